from codecairn.cli import main

main()

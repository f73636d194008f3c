"""References, resolved when they are asked for, inside one view: which definition does this name mean, here?"""

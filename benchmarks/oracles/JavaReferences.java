import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.TypeElement;
import javax.tools.ToolProvider;

/**
 * Every reference to each type, method and constructor of a folder of Java sources, as javac attributes them.
 *
 * <pre>java JavaReferences.java ROOT [CLASSPATH] > java_NAME.json</pre>
 *
 * What the class path lacks is an error to javac and no obstacle here: everything else is still attributed. A static
 * import refers to all methods of its name; the name of a type after `new` to the type and to the constructor.
 */
public final class JavaReferences {
    private static final class Symbol {
        final String kind;
        final String name;
        final String path;
        final long line;
        final String owner;
        final TreeSet<String> references = new TreeSet<>();

        Symbol(String kind, String name, String path, long line, String owner) {
            this.kind = kind;
            this.name = name;
            this.path = path;
            this.line = line;
            this.owner = owner;
        }

        @Override
        public String toString() {
            return String.format(
                "{\"kind\": \"%s\", \"line\": %d, \"path\": \"%s\", \"refs\": [%s], \"symbol\": \"%s\", \"owner\": \"%s\"}",
                kind, line, path, String.join(", ", references), name, owner);
        }
    }

    private final Path root;
    private final Trees trees;
    private final Map<Element, Symbol> symbols = new LinkedHashMap<>();

    private JavaReferences(Path root, Trees trees) {
        this.root = root;
        this.trees = trees;
    }

    public static void main(String[] arguments) throws IOException {
        Path root = Path.of(arguments[0]).toRealPath();
        var compiler = ToolProvider.getSystemJavaCompiler();
        var manager = compiler.getStandardFileManager(null, null, null);
        List<Path> files;
        try (var walk = Files.walk(root)) {
            files = walk.filter(each -> each.toString().endsWith(".java") && !each.endsWith("module-info.java"))
                .sorted().collect(Collectors.toList());
        }
        var options = List.of(
            "-proc:none", "-Xmaxerrs", "1000000", "--should-stop=ifError=FLOW", "-implicit:none",
            "-cp", arguments.length > 1 ? arguments[1] : "");
        var task = (JavacTask) compiler.getTask(
            null, manager, problem -> { }, options, null, manager.getJavaFileObjectsFromPaths(files));
        var units = task.parse();
        task.analyze();
        var found = new JavaReferences(root, Trees.instance(task));
        for (var unit : units) {
            found.new Definitions(unit).scan(unit, null);
        }
        for (var unit : units) {
            found.new Uses(unit).scan(unit, null);
        }
        System.out.println(
            found.symbols.values().stream().map(Symbol::toString).collect(Collectors.joining(",\n", "[", "]")));
    }

    private abstract class Scanner extends TreePathScanner<Void, Void> {
        final CompilationUnitTree unit;
        final SourcePositions positions = trees.getSourcePositions();
        final String path;
        final CharSequence text;

        Scanner(CompilationUnitTree unit) throws IOException {
            this.unit = unit;
            this.path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString().replace('\\', '/');
            this.text = unit.getSourceFile().getCharContent(true);
        }

        long line(long position) {
            return unit.getLineMap().getLineNumber(position);
        }
    }

    private final class Definitions extends Scanner {
        Definitions(CompilationUnitTree unit) throws IOException {
            super(unit);
        }

        @Override
        public Void visitClass(ClassTree tree, Void nothing) {
            if (tree.getSimpleName().length() > 0) {
                define("class", tree.getSimpleName().toString(), positions.getEndPosition(unit, tree.getModifiers()));
            }
            return super.visitClass(tree, nothing);
        }

        @Override
        public Void visitMethod(MethodTree tree, Void nothing) {
            Element element = trees.getElement(getCurrentPath());
            long after = positions.getEndPosition(unit, tree.getReturnType() == null ? tree.getModifiers() : tree.getReturnType());
            if (element != null && element.getKind() == ElementKind.METHOD) {
                define("method", tree.getName().toString(), after);
            } else if (element != null) {
                define("constructor", element.getEnclosingElement().getSimpleName().toString(), after);
            }
            return super.visitMethod(tree, nothing);
        }

        private void define(String kind, String name, long after) {
            Tree tree = getCurrentPath().getLeaf();
            int start = (int) Math.max(after, positions.getStartPosition(unit, tree));
            Matcher word = Pattern.compile("\\b" + Pattern.quote(name) + "\\b").matcher(text);
            Element element = trees.getElement(getCurrentPath());
            // What a compiler adds (a default constructor) has the place of its class and no name there.
            if (element == null || start < 0 || !word.find(start) || word.start() > positions.getEndPosition(unit, tree)) {
                return;
            }
            Element owner = element.getEnclosingElement();
            String qualified = kind.equals("class") ? name : owner.getSimpleName() + "." + name;
            Tree around = trees.getTree(owner);
            String place = around == null ? "" : path + ":" + positions.getStartPosition(unit, around);
            symbols.putIfAbsent(element, new Symbol(kind, qualified, path, line(word.start()), place));
        }
    }

    private final class Uses extends Scanner {
        Uses(CompilationUnitTree unit) throws IOException {
            super(unit);
        }

        @Override
        public Void visitIdentifier(IdentifierTree tree, Void nothing) {
            refer(trees.getElement(getCurrentPath()), positions.getStartPosition(unit, tree));
            return super.visitIdentifier(tree, nothing);
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
            refer(trees.getElement(getCurrentPath()), positions.getEndPosition(unit, tree) - tree.getIdentifier().length());
            return super.visitMemberSelect(tree, nothing);
        }

        @Override
        public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
            refer(trees.getElement(getCurrentPath()), positions.getEndPosition(unit, tree) - tree.getName().length());
            return super.visitMemberReference(tree, nothing);
        }

        @Override
        public Void visitNewClass(NewClassTree tree, Void nothing) {
            refer(trees.getElement(getCurrentPath()), positions.getStartPosition(unit, tree.getIdentifier()));
            return super.visitNewClass(tree, nothing);
        }

        @Override
        public Void visitImport(ImportTree tree, Void nothing) {
            if (tree.isStatic() && tree.getQualifiedIdentifier() instanceof MemberSelectTree) {
                var select = (MemberSelectTree) tree.getQualifiedIdentifier();
                var path = new TreePath(getCurrentPath(), select);
                Element owner = trees.getElement(new TreePath(path, select.getExpression()));
                if (owner instanceof TypeElement) {
                    long at = positions.getEndPosition(unit, select) - select.getIdentifier().length();
                    for (Element each : owner.getEnclosedElements()) {
                        if (each.getSimpleName().equals(select.getIdentifier())) {
                            refer(each, at);
                        }
                    }
                }
            }
            return super.visitImport(tree, nothing);
        }

        private void refer(Element element, long position) {
            Symbol symbol = symbols.get(element);
            if (symbol != null && position >= 0) {
                symbol.references.add(String.format("[\"%s\", %d]", path, line(position)));
            }
        }
    }
}

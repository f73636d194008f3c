using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

/// <summary>
/// Every reference to each type, method and constructor of a folder of C# sources, as Roslyn binds them.
/// <code>CSharpReferences ROOT ASSEMBLIES [SYMBOL,…] > cs_NAME.json</code>
/// ASSEMBLIES is a folder of reference assemblies. All sources are one compilation; what it lacks is an error to the
/// compiler and no obstacle here. A partial type is defined where its first part is; the name of a type after `new`
/// refers to the type and to the constructor; the name of a group of methods, as in `nameof`, to all of them.
/// </summary>
internal static class CSharpReferences
{
    private sealed class Found
    {
        public string Kind = "", Name = "", Path = "", Owner = "";
        public int Line;
        public readonly SortedSet<(string, int)> References = new SortedSet<(string, int)>();
    }

    private static int Main(string[] arguments)
    {
        var root = Path.GetFullPath(arguments[0]);
        var defined = arguments.Length > 2 ? arguments[2].Split(',') : Array.Empty<string>();
        var options = new CSharpParseOptions(LanguageVersion.Preview, preprocessorSymbols: defined);
        var trees = Directory.EnumerateFiles(root, "*.cs", SearchOption.AllDirectories)
            .OrderBy(each => each, StringComparer.Ordinal)
            .Select(each => CSharpSyntaxTree.ParseText(File.ReadAllText(each), options, each)).ToList();
        var assemblies = Directory.EnumerateFiles(arguments[1], "*.dll").Select(each => MetadataReference.CreateFromFile(each));
        var compiled = CSharpCompilation.Create(
            "all", trees, assemblies, new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, allowUnsafe: true));
        var symbols = new Dictionary<ISymbol, Found>();
        foreach (var tree in trees)
        {
            Define(symbols, compiled.GetSemanticModel(tree), root);
        }
        foreach (var tree in trees)
        {
            Refer(symbols, compiled.GetSemanticModel(tree), root);
        }
        Console.WriteLine(JsonSerializer.Serialize(new
        {
            symbols = symbols.Values.Select(each => new
            {
                kind = each.Kind, line = each.Line, path = each.Path, symbol = each.Name, owner = each.Owner,
                refs = each.References.Select(place => new object[] { place.Item1, place.Item2 }),
            }),
            left_out = trees.ToDictionary(
                each => Path.GetRelativePath(root, each.FilePath).Replace('\\', '/'),
                each => Unseen(compiled.GetSemanticModel(each)).Distinct()),
        }));
        return 0;
    }

    private static void Define(Dictionary<ISymbol, Found> symbols, SemanticModel model, string root)
    {
        foreach (var node in model.SyntaxTree.GetRoot().DescendantNodes())
        {
            var (kind, name) = node switch
            {
                BaseTypeDeclarationSyntax type => ("class", type.Identifier),
                DelegateDeclarationSyntax type => ("class", type.Identifier),
                MethodDeclarationSyntax method => ("method", method.Identifier),
                LocalFunctionStatementSyntax function => ("function", function.Identifier),
                ConstructorDeclarationSyntax made => ("constructor", made.Identifier),
                _ => ("", default),
            };
            var symbol = kind == "" ? null : model.GetDeclaredSymbol(node);
            if (symbol != null && !symbols.ContainsKey(symbol))
            {
                var (path, line) = Place(name, root);
                var owner = kind == "class" ? "" : symbol.ContainingType?.Name + ".";
                symbols[symbol] = new Found
                {
                    Kind = kind, Name = owner + name.ValueText, Path = path, Line = line,
                    Owner = symbol.ContainingType?.ToDisplayString() ?? "",
                };
            }
        }
    }

    private static void Refer(Dictionary<ISymbol, Found> symbols, SemanticModel model, string root)
    {
        foreach (var node in model.SyntaxTree.GetRoot().DescendantNodes())
        {
            var name = node switch
            {
                SimpleNameSyntax simple => simple.Identifier,
                ObjectCreationExpressionSyntax made => LastName(made.Type),
                ConstructorInitializerSyntax other => other.ThisOrBaseKeyword,
                _ => default,
            };
            if (name == default || node is IdentifierNameSyntax { IsVar: true })
            {
                continue;
            }
            foreach (var symbol in Meant(model.GetSymbolInfo(node), node))
            {
                if (symbols.TryGetValue(symbol, out var found))
                {
                    found.References.Add(Place(name, root));
                }
            }
        }
    }

    /// <summary>Lines that the compiler does not see, or where it cannot tell what a name means: a library is missing.</summary>
    private static IEnumerable<int> Unseen(SemanticModel model)
    {
        foreach (var left in model.SyntaxTree.GetRoot().DescendantTrivia().Where(each => each.IsKind(SyntaxKind.DisabledTextTrivia)))
        {
            var span = left.GetLocation().GetLineSpan();
            for (var line = span.StartLinePosition.Line; line <= span.EndLinePosition.Line; line++)
            {
                yield return line + 1;
            }
        }
        foreach (var name in model.SyntaxTree.GetRoot().DescendantNodes().OfType<SimpleNameSyntax>())
        {
            var info = model.GetSymbolInfo(name);
            if (info.Symbol == null && info.CandidateSymbols.Length != 1 && info.CandidateReason != CandidateReason.MemberGroup)
            {
                yield return name.GetLocation().GetLineSpan().StartLinePosition.Line + 1;
            }
        }
    }

    private static SyntaxToken LastName(TypeSyntax type) => type switch
    {
        SimpleNameSyntax simple => simple.Identifier,
        QualifiedNameSyntax qualified => qualified.Right.Identifier,
        _ => type.GetFirstToken(),
    };

    private static IEnumerable<ISymbol> Meant(SymbolInfo info, SyntaxNode node)
    {
        var meant = info.Symbol != null ? new[] { info.Symbol }
            : info.CandidateReason == CandidateReason.MemberGroup || info.CandidateSymbols.Length == 1 ? info.CandidateSymbols.ToArray()
            : Array.Empty<ISymbol>();
        foreach (var each in meant)
        {
            var symbol = each is IMethodSymbol { ReducedFrom: { } } reduced ? reduced.ReducedFrom : each;
            yield return symbol.OriginalDefinition;
            // The name of an attribute is bound to its constructor.
            if (node.Parent is AttributeSyntax && symbol is IMethodSymbol)
            {
                yield return symbol.ContainingType.OriginalDefinition;
            }
        }
    }

    private static (string, int) Place(SyntaxToken name, string root)
    {
        var line = name.GetLocation().GetLineSpan().StartLinePosition.Line + 1;
        return (Path.GetRelativePath(root, name.SyntaxTree!.FilePath).Replace('\\', '/'), line);
    }
}

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.ListTokenSource;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.atn.PredictionContextCache;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.analysis.CTESubstitution$;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.PlanWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.analysis.UnresolvedView;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnresolvedNamedLambdaVariable;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.SqlBaseParser;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.execution.command.ResetCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.execution.command.SetNamespaceCommand;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Product;
import scala.collection.Seq;

/**
 * What Spark's own lexer and parser make of texts. Requests and answers are strings with their
 * length in front: a request is a letter and a text, `L` for the words, `P` for the tables of the
 * parsed plan, `K` for all keywords, `G` for the words of a random statement of a seed, `S` for those
 * of a script, `C` for `key=value`, a setting. Fields of an answer end in U+0001, parts in U+0002.
 */
public final class SparkReads {
  private static final char FIELD = 1;
  private static final char PART = 2;
  private static final SparkSqlParser PARSER = new SparkSqlParser();
  private static final Analyzer ANALYZER =
      new Analyzer(new SessionCatalog(new InMemoryCatalog(
          new org.apache.spark.SparkConf(false), new org.apache.hadoop.conf.Configuration()),
          FunctionRegistry$.MODULE$.builtin()));

  private final StringBuilder found = new StringBuilder();
  private final Map<Long, CTERelationDef> definitions = new HashMap<>();
  private final Set<Long> opened = new HashSet<>();

  public static void main(String[] args) throws IOException {
    PrintStream plain = System.out;
    System.setOut(System.err);
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(plain, 1 << 20));
    while (true) {
      int length = in.readInt();
      if (length == 0) {
        return;
      }
      if (length < 0) {
        out.flush();
        continue;
      }
      byte[] bytes = new byte[length];
      in.readFully(bytes);
      String request = new String(bytes, StandardCharsets.UTF_8);
      byte[] answer = answer(request.charAt(0), request.substring(1))
          .getBytes(StandardCharsets.UTF_8);
      out.writeInt(answer.length);
      out.write(answer);
    }
  }

  private static String answer(char kind, String text) {
    try {
      if (kind == 'L') {
        return words(text);
      }
      if (kind == 'K') {
        return keywords();
      }
      if (kind == 'G') {
        return String.join(String.valueOf(FIELD), SparkWrites.statement(Long.parseLong(text)));
      }
      if (kind == 'S') {
        return String.join(String.valueOf(FIELD), SparkWrites.script(Long.parseLong(text)));
      }
      if (kind == 'C') {
        int at = text.indexOf('=');
        SQLConf.get().setConfString(text.substring(0, at), text.substring(at + 1));
        return "";
      }
      makeRoom();
      return new SparkReads().tables(text);
    } catch (Throwable error) {
      return "error" + FIELD + error.getClass().getSimpleName() + ": " + message(error);
    }
  }

  private static String message(Throwable error) {
    try {
      return error.getMessage();
    } catch (RuntimeException other) { // Spark 4 cannot write some
      return "";
    }
  }

  /** The parser learns from each statement, without end: forget it when it fills the memory. */
  private static void makeRoom() throws ReflectiveOperationException {
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      MemoryUsage left = pool.getCollectionUsage(); // by the last collection
      if (pool.getName().equals("Tenured Gen") && left.getUsed() > left.getMax() / 2) {
        SqlBaseParser parser =
            new SqlBaseParser(new CommonTokenStream(new ListTokenSource(List.of())));
        parser.getInterpreter().clearDFA();
        Object contexts = hidden(SqlBaseParser.class, "_sharedContextCache", null);
        ((Map<?, ?>) hidden(PredictionContextCache.class, "cache", contexts)).clear();
        forgetInSpark4(parser);
        System.gc();
      }
    }
  }

  /** Spark 4 keeps what its parsers learn in a place of its own. */
  private static void forgetInSpark4(SqlBaseParser parser) throws ReflectiveOperationException {
    try {
      Class<?> type = Class.forName("org.apache.spark.sql.catalyst.parser.AbstractParser$");
      Object parsers = type.getField("MODULE$").get(null);
      type.getMethod("clearParserCaches", SqlBaseParser.class).invoke(parsers, parser);
    } catch (ClassNotFoundException | NoSuchMethodException older) {
      return;
    }
  }

  private static Object hidden(Class<?> owner, String name, Object of)
      throws ReflectiveOperationException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }

  private static String words(String text) {
    SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)));
    lexer.removeErrorListeners();
    StringBuilder result = new StringBuilder();
    for (Token each = lexer.nextToken(); each.getType() != Token.EOF; each = lexer.nextToken()) {
      if (each.getChannel() == Token.DEFAULT_CHANNEL) {
        String name = SqlBaseLexer.VOCABULARY.getSymbolicName(each.getType());
        result.append(name).append(PART).append(each.getStartIndex()).append(PART)
            .append(each.getStopIndex() + 1).append(FIELD);
      }
    }
    return (lexer.has_unclosed_bracketed_comment ? "unclosed" : "closed") + FIELD + result;
  }

  private static String keywords() {
    StringBuilder result = new StringBuilder();
    for (int type = 1; type <= SqlBaseLexer.VOCABULARY.getMaxTokenType(); type++) {
      String name = SqlBaseLexer.VOCABULARY.getLiteralName(type);
      if (name != null && name.matches("'[A-Z_]+'")) {
        result.append(name.toLowerCase(), 1, name.length() - 1).append(FIELD);
      }
    }
    return result.toString();
  }

  private String tables(String text) {
    LogicalPlan plan = PARSER.parsePlan(text);
    String name = plan.getClass().getSimpleName();
    if (plan instanceof SetCommand || plan instanceof ResetCommand) {
      return name + FIELD + settings((Product) plan);
    }
    if (name.matches("Add(Jars|Files|Archives)Command")) {
      StringBuilder paths = new StringBuilder();
      parts(((Product) plan).productElement(0)).forEach(each -> paths.append(each).append(FIELD));
      return name + FIELD + paths;
    }
    // Of a script the rule would leave out branches; its statements are substituted one by one.
    boolean script = name.equals("CompoundBody");
    LogicalPlan substituted = script ? plan : CTESubstitution$.MODULE$.apply(plan);
    define(substituted);
    walk(substituted, "");
    return name + FIELD + found;
  }

  private static String settings(Product command) {
    StringBuilder result = new StringBuilder();
    Object argument = ((Option<?>) command.productElement(0)).getOrElse(() -> null);
    if (argument instanceof Product) {
      Product pair = (Product) argument;
      result.append(pair.productElement(0)).append(FIELD);
      Object value = ((Option<?>) pair.productElement(1)).getOrElse(() -> null);
      if (value != null) {
        result.append(value).append(FIELD);
      }
    } else if (argument != null) {
      result.append(argument).append(FIELD);
    }
    return result.toString();
  }

  private void define(Object node) {
    if (node instanceof PlanWithUnresolvedIdentifier) {
      build((PlanWithUnresolvedIdentifier) node); // Spark does so in CTEs that nothing reads, too
    }
    if (node instanceof ExpressionWithUnresolvedIdentifier) {
      nameParts(((ExpressionWithUnresolvedIdentifier) node).identifierExpr());
    }
    if (node instanceof CTERelationDef) {
      definitions.put(((CTERelationDef) node).id(), (CTERelationDef) node);
    }
    for (Object each : parts(node)) {
      define(each);
    }
  }

  @SuppressWarnings("unchecked")
  private void walk(Object node, String owner) {
    if (node == null) {
      return; // DECLARE without a value
    }
    if (node instanceof UnresolvedWith) { // of a plan inside a command
      LogicalPlan substituted = CTESubstitution$.MODULE$.apply((LogicalPlan) node);
      define(substituted);
      walk(substituted, owner);
    } else if (node instanceof WithCTE) {
      walk(((WithCTE) node).plan(), "WithCTE.0");
    } else if (node instanceof CTERelationRef) {
      long id = ((CTERelationRef) node).cteId();
      if (opened.add(id)) {
        walk(definitions.get(id).child(), "CTE.0");
      }
    } else if (node instanceof PlanWithUnresolvedIdentifier) {
      LogicalPlan built = build((PlanWithUnresolvedIdentifier) node);
      define(built);
      walk(built, owner);
    } else if (node.getClass().getSimpleName().equals("SingleStatement")) { // of a script
      walkStatement((LogicalPlan) ((Product) node).productElement(0));
    } else if (node instanceof TableIdentifier) {
      TableIdentifier table = (TableIdentifier) node;
      List<String> names = new ArrayList<>();
      for (Option<String> each : List.of(table.catalog(), table.database())) {
        if (each.isDefined()) {
          names.add(each.get());
        }
      }
      names.add(table.table());
      emit(owner, "TableIdentifier", names);
    } else if (node.getClass().getSimpleName().equals("UnresolvedInsertTarget")) { // of Spark 4
      emit("InsertIntoStatement.0", node, (Seq<String>) ((Product) node).productElement(0));
    } else if (node instanceof UnresolvedRelation) {
      emit(owner, node, ((UnresolvedRelation) node).multipartIdentifier());
    } else if (node instanceof UnresolvedTable) {
      emit(owner, node, ((UnresolvedTable) node).multipartIdentifier());
    } else if (node instanceof UnresolvedView) {
      emit(owner, node, ((UnresolvedView) node).multipartIdentifier());
    } else if (node instanceof UnresolvedTableOrView) {
      emit(owner, node, ((UnresolvedTableOrView) node).multipartIdentifier());
    } else if (node instanceof UnresolvedIdentifier) {
      emit(owner, node, ((UnresolvedIdentifier) node).nameParts());
    } else if (node instanceof UnresolvedNamespace) {
      emit(owner, node, ((UnresolvedNamespace) node).multipartIdentifier());
    } else if (node instanceof SetNamespaceCommand) {
      emit("SetNamespaceCommand.0", node, ((SetNamespaceCommand) node).namespace());
    } else if (node instanceof UnresolvedAttribute) {
      emitColumn(((UnresolvedAttribute) node).nameParts());
    } else if (node instanceof UnresolvedNamedLambdaVariable) {
      emitColumn(((UnresolvedNamedLambdaVariable) node).nameParts());
    } else {
      // An alias of a target, and EXPLAIN, leave the place what it is.
      boolean plan = node instanceof LogicalPlan && !(node instanceof SubqueryAlias)
          && !(node instanceof ExplainCommand);
      int at = 0;
      for (Object each : parts(node)) {
        walk(each, plan ? node.getClass().getSimpleName() + "." + at : owner);
        at++;
      }
      if (node instanceof RenameTable) {
        emit("RenameTable.1", node, ((RenameTable) node).newName());
      }
    }
  }

  /** A statement of a script. The query of a cursor is a text. */
  private void walkStatement(LogicalPlan parsed) {
    LogicalPlan plan = parsed;
    if (plan.getClass().getSimpleName().equals("DeclareCursor")) {
      plan = PARSER.parsePlan((String) ((Product) plan).productElement(1));
    }
    LogicalPlan substituted = CTESubstitution$.MODULE$.apply(plan);
    define(substituted);
    walk(substituted, "SingleStatement.0");
  }

  private static List<Object> parts(Object node) {
    List<Object> result = new ArrayList<>();
    if (node instanceof DataType || node instanceof String) {
      return result;
    }
    if (node instanceof scala.collection.Iterable) {
      scala.collection.Iterator<?> each = ((scala.collection.Iterable<?>) node).iterator();
      while (each.hasNext()) {
        result.add(each.next());
      }
    } else if (node instanceof Product) {
      for (int at = 0; at < ((Product) node).productArity(); at++) {
        result.add(((Product) node).productElement(at));
      }
    }
    return result;
  }

  @SuppressWarnings("unchecked")
  private static LogicalPlan build(PlanWithUnresolvedIdentifier node) {
    Seq<String> parts = nameParts((Expression) node.identifierExpr());
    return (LogicalPlan) ((scala.Function2) node.planBuilder()).apply(parts, node.children());
  }

  /** The name that the argument of IDENTIFIER gives; Spark refuses the statement if it gives none. */
  private static Seq<String> nameParts(Expression argument) {
    Filter resolved =
        (Filter) ANALYZER.ResolveFunctions().apply(new Filter(argument, new OneRowRelation()));
    Object text = resolved.condition().eval(InternalRow.empty());
    return CatalystSqlParser$.MODULE$.parseMultipartIdentifier(text.toString());
  }

  /** `(SELECT * FROM a, b)` is a row to Spark: the column `select` times `from`, and `b`. */
  private void emitColumn(Seq<String> names) {
    if (names.size() == 1 && names.head().equalsIgnoreCase("select")) {
      emit("", "UnresolvedAttribute", List.of());
    }
  }

  private void emit(String owner, Object node, Seq<String> names) {
    List<String> parts = new ArrayList<>();
    scala.collection.Iterator<String> each = names.iterator();
    while (each.hasNext()) {
      parts.add(each.next());
    }
    emit(owner, node.getClass().getSimpleName(), parts);
  }

  private void emit(String owner, String kind, List<String> names) {
    found.append(owner).append(PART).append(kind);
    for (String each : names) {
      found.append(PART).append(each);
    }
    found.append(FIELD);
  }
}

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.ListTokenSource;
import org.antlr.v4.runtime.Vocabulary;
import org.antlr.v4.runtime.atn.ATN;
import org.antlr.v4.runtime.atn.ATNState;
import org.antlr.v4.runtime.atn.PredicateTransition;
import org.antlr.v4.runtime.atn.RuleStopState;
import org.antlr.v4.runtime.atn.RuleTransition;
import org.antlr.v4.runtime.atn.Transition;
import org.antlr.v4.runtime.atn.WildcardTransition;
import org.antlr.v4.runtime.misc.IntervalSet;
import org.apache.spark.sql.catalyst.parser.SqlBaseParser;

/**
 * Random statements of the grammar of the Spark that runs, whichever version it is: a walk through
 * the state machine of its parser. Each rule of the grammar occurs, in each place where it may.
 */
final class SparkWrites {
  private static final ATN GRAMMAR = SqlBaseParser._ATN;
  private static final List<String> RULES = Arrays.asList(SqlBaseParser.ruleNames);
  private static final Vocabulary WORDS = SqlBaseParser.VOCABULARY;
  private static final SqlBaseParser DEFAULTS =
      new SqlBaseParser(new CommonTokenStream(new ListTokenSource(List.of()))); // its settings decide between alternatives
  private static final int FAR = 1_000_000;
  /** The fewest words from each state to the end of its rule. */
  private static final int[] SHORTEST = shortest();

  private static final String[] TABLES = {"t1", "t2", "t3", "d1", "cte1", "`t 4`", "T1"};
  private static final String[] COLUMNS = {"x", "y", "a", "b", "ds", "`x y`"};
  private static final String[] FUNCTIONS = {
    "count", "coalesce", "concat", "f", "explode", "range", "stack", "d1.f", "max"
  };

  private static final String[] NAMES = {"'t1'", "'d1.t2'", "'d1' || '.t3'", "concat('t', 4)"};

  private final Random chance;
  private final List<String> words = new ArrayList<>();
  private final int most;

  private SparkWrites(long seed) {
    chance = new Random(seed);
    most = 5 + chance.nextInt(35);
  }

  /** The words of one statement. */
  static List<String> statement(long seed) {
    SparkWrites writer = new SparkWrites(seed);
    int kind = writer.chance.nextInt(100);
    if (kind < 45) {
      writer.rule("query");
    } else if (kind < 65) {
      if (writer.may(30)) {
        writer.rule("ctes");
      }
      writer.rule("dmlStatementNoWith");
    } else {
      writer.rule("statement");
    }
    return writer.words;
  }

  /** The words of one script. */
  static List<String> script(long seed) {
    SparkWrites writer = new SparkWrites(seed);
    writer.words.add("BEGIN");
    writer.rule("compoundBody");
    writer.words.add("END");
    return writer.words;
  }

  private void rule(String name) {
    if (instead(name)) {
      return;
    }
    ATNState state = GRAMMAR.ruleToStartState[RULES.indexOf(name)];
    while (!(state instanceof RuleStopState)) {
      Transition next = chosen(state);
      if (next instanceof RuleTransition) {
        rule(RULES.get(((RuleTransition) next).ruleIndex));
        state = ((RuleTransition) next).followState;
        continue;
      }
      if (next instanceof WildcardTransition) {
        words.add(pick(COLUMNS));
      } else if (!next.isEpsilon()) {
        words.add(word(next.label()));
      }
      state = next.target;
    }
  }

  /** Names and sub-queries are written more often than a blind walk would write them. */
  private boolean instead(String rule) {
    switch (rule) {
      case "errorCapturingIdentifier":
        rule("identifier"); // the rest of the rule is for names that Spark refuses
        return true;
      case "identifier":
        return may(85) && words.add(may(60) ? pick(TABLES) : pick(COLUMNS));
      case "multipartIdentifier":
        if (may(7)) {
          return false;
        }
        if (may(30)) {
          words.add("d1");
          words.add(".");
        }
        rule("identifier");
        return true;
      case "parameterMarker": // the parser of a Thrift Server's statement refuses it
      case "namedParameterMarkerRule":
      case "positionalParameterMarkerRule":
        return words.add("1");
      case "functionName":
        return may(80) && words.add(pick(FUNCTIONS));
      case "identifierReference":
        if (may(8)) {
          inBrackets("IDENTIFIER", pick(NAMES));
        } else {
          rule("multipartIdentifier");
        }
        return true;
      case "strictIdentifier": // of labels, which have to be the same at both ends
        return words.add("l1");
      case "query":
        return may(60) && all("queryTerm", "queryOrganization");
      case "queryPrimary":
        return may(55) && all("querySpecification");
      case "relationPrimary":
        return may(60) && all("identifierReference", "tableAlias");
      case "primaryExpression":
        if (words.size() > most) {
          return words.add(may(70) ? pick(COLUMNS) : pick("1", "'a'"));
        }
        if (!may(12)) {
          return false;
        }
        words.add("(");
        rule("query");
        words.add(")");
        return true;
      default:
        return false;
    }
  }

  private boolean all(String... rules) {
    Arrays.asList(rules).forEach(this::rule);
    return true;
  }

  private void inBrackets(String name, String argument) {
    words.addAll(List.of(name, "(", argument, ")"));
  }

  /** Any way on; the longer the statement is, the more often the shortest one. */
  private Transition chosen(ATNState state) {
    List<Transition> ways = new ArrayList<>();
    int least = FAR;
    for (Transition each : state.getTransitions()) {
      if (length(each, SHORTEST) < FAR) {
        ways.add(each);
        least = Math.min(least, length(each, SHORTEST));
      }
    }
    if (chance.nextInt(most) < words.size()) {
      int limit = least;
      ways.removeIf(each -> length(each, SHORTEST) > limit);
    }
    return ways.get(chance.nextInt(ways.size()));
  }

  private static boolean holds(Transition way) {
    if (!(way instanceof PredicateTransition)) {
      return true;
    }
    PredicateTransition condition = (PredicateTransition) way;
    return DEFAULTS.sempred(null, condition.ruleIndex, condition.predIndex);
  }

  private String word(IntervalSet kinds) {
    int kind = kinds.get(chance.nextInt(kinds.size()));
    String literal = WORDS.getLiteralName(kind);
    if (literal != null) {
      return literal.substring(1, literal.length() - 1);
    }
    switch (String.valueOf(WORDS.getSymbolicName(kind))) {
      case "IDENTIFIER": return pick(COLUMNS);
      case "BACKQUOTED_IDENTIFIER": return "`a b`";
      case "STRING_LITERAL": return pick("'a'", "'d1.t9'", "'-- '", "r'\\'", "'DAY'");
      case "STRING": return pick("'a'", "'d1.t9'", "'-- '", "r'\\'", "'DAY'");
      case "DOUBLEQUOTED_STRING": return "\"b\"";
      case "BIGINT_LITERAL": return "1L";
      case "SMALLINT_LITERAL": return "1S";
      case "TINYINT_LITERAL": return "1Y";
      case "INTEGER_VALUE": return pick("1", "2");
      case "EXPONENT_VALUE": return "1e3";
      case "DECIMAL_VALUE": return "1.5";
      case "FLOAT_LITERAL": return "1.5F";
      case "DOUBLE_LITERAL": return "1.5D";
      case "BIGDECIMAL_LITERAL": return "1.5BD";
      case "BEGIN_DOLLAR_QUOTED_STRING": return "$$";
      case "DOLLAR_QUOTED_STRING_BODY": return "a";
      case "END_DOLLAR_QUOTED_STRING": return "$$";
      case "EQ": return pick("=", "==");
      case "NEQ": return "<>";
      case "LTE": return pick("<=", "!>");
      case "GTE": return pick(">=", "!<");
      case "NOT": return pick("NOT", "!");
      case "RLIKE": return pick("RLIKE", "REGEXP");
      case "TEMPORARY": return pick("TEMPORARY", "TEMP");
      default: return WORDS.getSymbolicName(kind);
    }
  }

  private boolean may(int percent) {
    return chance.nextInt(100) < percent;
  }

  private String pick(String... choices) {
    return choices[chance.nextInt(choices.length)];
  }

  private static int[] shortest() {
    int[] result = new int[GRAMMAR.states.size()];
    Arrays.fill(result, FAR);
    for (boolean changed = true; changed;) {
      changed = false;
      for (ATNState state : GRAMMAR.states) {
        int least = state instanceof RuleStopState ? 0 : FAR;
        for (Transition each : state instanceof RuleStopState ? new Transition[0] : state.getTransitions()) {
          least = Math.min(least, length(each, result));
        }
        if (least < result[state.stateNumber]) {
          result[state.stateNumber] = least;
          changed = true;
        }
      }
    }
    return result;
  }

  private static int length(Transition way, int[] shortest) {
    if (!holds(way)) {
      return FAR;
    }
    int rest = shortest[way.target.stateNumber];
    if (way instanceof RuleTransition) {
      rest += shortest[((RuleTransition) way).followState.stateNumber];
    }
    return Math.min(FAR, rest + (way.isEpsilon() ? 0 : 1));
  }
}

import java.util.Date;
import java.util.TimeZone;

/** Prints a time in each zone as java.util.Date writes it. Arguments: FIRST LAST STEP ZONE.. */
public class DateCases {
    public static void main(String[] args) {
        long first = Long.parseLong(args[0]);
        long last = Long.parseLong(args[1]);
        long step = Long.parseLong(args[2]);
        StringBuilder out = new StringBuilder();
        for (int at = 3; at < args.length; at++) {
            TimeZone.setDefault(TimeZone.getTimeZone(args[at]));
            for (long time = first; time <= last; time += step) {
                out.append(args[at]).append('\t').append(time).append('\t');
                out.append(new Date(time * 1000L).toString()).append('\n');
            }
        }
        System.out.print(out);
    }
}

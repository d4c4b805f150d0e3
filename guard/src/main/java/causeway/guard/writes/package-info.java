/**
 * Writes of this Spark: whether they are allowed, and which copies they end.
 *
 * <p>{@link causeway.guard.writes.WriteCheck} refuses writes outside the primary cluster. The rest of the
 * package, with {@code causeway.guard.files}, keeps one rule: no copy of an object is fresh from before
 * the first byte of a write until after its last (D10). The guard therefore reports each write to the
 * metastore view twice, when it begins and when it has ended. In between the view keeps the mark
 * {@code causeway.open.<id>} in each table that the write may change; docs/guide/guard.md, "What it ends",
 * says how the view uses a report.
 *
 * <p>Writes are found in two ways. The plan of an SQL command, of a DataFrame writer or of a stream's batch
 * names its tables and folders, so they are reported when Spark checks the plan. Files that no plan names
 * are written by RDDs, by programs that call a file system, and by threads that outlive their command. The
 * agent checks each call that changes files. If a running command has reported the file, its report covers
 * the call ({@link causeway.guard.writes.StatementWrites}); otherwise the agent reports the file's folder.
 *
 * <pre>
 * What               begins with              is kept by                ends with
 * -----------------  -----------------------  ------------------------  --------------------------------
 * RunningWrite       the first report, of     the same report again     the report of the end, which is
 * (one mark in the   begin(), by one of the   every 20 seconds, as      repeated until a view accepts it:
 * view)              owners below             long as an owner is       end() by the owner, an owner that
 *                                             reachable                 is garbage, or the process's stop
 *
 * RunningCommand     BeforeCheck, which tags  the plan, whose tag it    AfterCommand: Spark plans the
 * (of CopyInvali-    the node of a command;   is                        fetch of the result; ExecutionEnds,
 * dation; owner of   the check rule adds a                              Spark's listener, for commands
 * RunningWrites)     write for each target                              without a result; 5 seconds after
 *                                                                       a failure
 *
 * FolderLease        FileWrites: the first    its users: each call of   5 seconds without a user; the end
 * (owner of one      change of a file in the  a file system, open       of an SQL command of the process
 * RunningWrite)      folder that no command   stream and committer's    that has used it; idle, if there
 *                    covers                   job                       are more than 500
 *
 * Users of a lease:
 * - a call           enter(), before the      the thread's stack of     exit(), after the call
 *                    call                     calls in FileWrites
 * - a stream         exit(), of the call      LeaseHolders              closed(), or it is garbage
 *                    that returns it
 * - a job            beforeJob(), of its      LeaseHolders              jobEnded(), or the committer is
 *                    committer                                          garbage
 *
 * WriteGrant         WriteCheck: the meta-    a local property of the   the thread's next statement that
 * (folders in other  store names this         thread and its tasks      writes a table
 * file systems)      cluster as the primary
 * </pre>
 *
 * <p>{@code causeway.guard.files.StorageAgent} adds the calls enter, exit, closed, beforeJob and jobEnded of
 * {@code StorageCheck} to Hadoop's file systems and committers. A process that is killed reports no end: its
 * marks stay until the view finds that the application has ended, or until
 * {@code causeway table assign --end-writes}.
 *
 * <p>{@link causeway.guard.writes.MetastoreView} sends the reports. An executor in a process of its own
 * calls its driver for the view's address and log-in, and for whether a command covers a file
 * ({@code causeway.guard.WritePlugin}).
 */
package causeway.guard.writes;

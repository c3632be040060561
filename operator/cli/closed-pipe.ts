/** Exit code of a shell for a process that SIGPIPE has ended. Node.js ignores that signal. */
const EXIT_SIGPIPE = 141;

/**
 * Ends this process when nobody reads its output any more, as in `vmcp tools | head -1`: a server drains as after SIGTERM,
 * and any other command ends at once, without a message.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (process.listenerCount('SIGTERM') === 0) process.exit(EXIT_SIGPIPE);
      process.kill(process.pid, 'SIGTERM');
    });
  }
}

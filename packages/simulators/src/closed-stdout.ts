// A reader such as `head` may close standard output before the command has written all of it.

/** Ends the command with exit code 0 instead of the error EPIPE. */
export function exitWhenStdoutIsClosed(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}

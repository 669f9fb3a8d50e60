// Preloaded into child processes: stops them when their parent ends, even after SIGKILL.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// The listener alone does not keep the process alive.
if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref();

// Preloaded into child processes: ends them when their parent ends, even by a signal it cannot catch.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();
// Listening for the end is no reason to stay.
if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref();

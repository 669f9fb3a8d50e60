// Finds Node 24 and runs a program under it. Plain JavaScript for any Node since 14: the machine's own
// Node reads this before a newer one is at hand. The command and tools/run.cjs have it in common.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');

const nodeMajor = 24;

function isNewEnough(least = nodeMajor) {
  return parseInt(process.versions.node, 10) >= least;
}

/** The locked copy for this machine, looked for from a folder upwards; undefined where there is none. */
function bundledNode(folder) {
  try {
    const name = `node-${process.platform}-${process.arch}/package.json`;
    const found = require.resolve(name, { paths: [folder] });
    return path.join(path.dirname(found), 'bin', 'node');
  } catch {
    return undefined;
  }
}

/**
 * Runs Node with these arguments on our own terminal, hands signals on, and ends as it ends. With `hears` it may
 * send us messages.
 */
function runUnder(node, args, env, onFault, hears = false) {
  const stdio = ['inherit', 'inherit', 'inherit'].concat(hears ? ['ipc'] : []);
  const child = spawn(node, args, { stdio, env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal sends Ctrl-C to the child as well: passing it on would count it twice.
    process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
  }
  child.on('error', onFault);
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
  return child;
}

module.exports = { nodeMajor, isNewEnough, bundledNode, runUnder };

// Starts every command of this repository: installs the locked packages where they are lacking,
// finds Node 24, and runs the target under it. Plain JavaScript for any Node since 14: this and
// packages/cli/bin are all that a machine's own Node has to understand.
'use strict';

const { spawn, spawnSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {
  bundledNode,
  isNewEnough,
  nodeMajor,
  runUnder,
} = require('../packages/cli/bin/node-24.cjs');
const { findServerBundle } = require('./sites/server-bundle.cjs');

const npmMajor = 7;
// Installs all dependencies, also those that the npm settings of the user leave out, and hides warnings
// about an old Node of the machine, because the packages never run under it.
const installFlags =
  '--include=dev --include=optional --engine-strict=false --loglevel=error'.split(' ');
const lockWaitMs = 15 * 60 * 1000;

const root = path.resolve(__dirname, '..');
const modules = path.join(root, 'node_modules');
const stampFile = path.join(modules, '.switchyard-stamp');
const lockFolder = path.join(root, '.cache', 'setup.lock');

/**
 * Keeps the memory of the server small and its pauses short; NODE_OPTIONS can change it. A heap near its
 * limit is collected all the time: about 130 MiB are in use while thousands of clients wait.
 */
const serverFlags = ['--max-semi-space-size=8', '--max-old-space-size=224'];

/** glibc reserves about 15 MiB of unused memory for each thread; other C libraries ignore this setting. */
const serverVariables = { MALLOC_ARENA_MAX: '1' };

const parentLookMs = 250;

/**
 * The shell of npm does not forward signals, so this process ends when its parent has ended.
 * A process that the user started in another shell continues when that shell ends.
 */
function endWithNpm() {
  if (process.env['npm_lifecycle_event'] === undefined || process.platform === 'win32') return;
  const parent = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, parentLookMs);
  look.unref();
}

const targets = {
  start: {
    script: 'packages/server/src/main.ts',
    findBundle: findServerBundle,
    flags: serverFlags,
    variables: serverVariables,
    background: ['tools/build-site.ts', 'portal', 'documentation', 'server'],
    // The build starts after the server has checked its ports, so that a start that fails builds nothing.
    backgroundAfterPortCheck: true,
    does: 'start the platform',
  },
  dev: {
    script: 'packages/server/src/main.ts',
    flags: ['--watch', '--watch-preserve-output', ...serverFlags],
    variables: serverVariables,
    background: [
      'node_modules/vite/bin/vite.js',
      'build',
      'packages/portal',
      '--watch',
      '--emptyOutDir',
    ],
    backgroundStopsWithTarget: true,
    does: 'start the platform; restart it and rebuild the portal when a source changes',
  },
  test: {
    script: 'tools/test-runner/test-command.ts',
    background: ['tools/build-site.ts', 'portal'],
    does: 'run all checks and tests, or the tests whose path contains the given words',
  },
  check: {
    script: 'tools/test-runner/test-command.ts',
    args: ['--static'],
    does: 'run the static checks only',
  },
  bench: {
    script: 'tools/bench/bench-command.ts',
    does: 'measure speed and memory; -- --help lists the benchmarks',
  },
  attack: {
    script: 'tools/attack.ts',
    does: 'run security tests against a temporary platform in production mode',
  },
  faults: {
    script: 'tools/faults/faults-command.ts',
    does: 'inject faults into a platform under load',
  },
  drill: {
    script: 'tools/drill/drill-command.ts',
    does: 'test the platform on a temporary Citus cluster: failures, moved shards, speed',
  },
  fuzz: { script: 'tools/fuzz/fuzz-command.ts', does: 'feed millions of inputs to the parsers' },
  'build-portal': {
    script: 'tools/build-site.ts',
    args: ['portal', '--report-current'],
    does: 'build the portal if its sources have changed',
  },
  'build-server': {
    script: 'tools/build-site.ts',
    args: ['server', '--report-current'],
    does: 'bundle the server for a faster start if its sources have changed',
  },
  'docs:build': {
    script: 'tools/build-site.ts',
    args: ['documentation', '--report-current'],
    does: 'build the documentation site if its sources have changed',
  },
  'docs:dev': {
    script: 'node_modules/vitepress/bin/vitepress.js',
    args: ['dev', 'docs'],
    does: 'show the documentation site while you edit it',
  },
  'docs:not-run': {
    script: 'tools/guides/not-run-command.ts',
    does: 'list the commands of the documentation that no test runs, each with the reason',
  },
  generate: { script: 'tools/generate/generate-command.ts', does: 'write the generated documents' },
  format: { script: 'tools/test-runner/format-command.ts', does: 'format every file' },
  'acquirer-host': {
    script: 'packages/simulators/src/acquirer-host/main.ts',
    does: 'run the acquirer host simulator, and check host tables',
  },
  pack: { script: 'tools/pack.ts', does: 'pack the published packages' },
  release: {
    script: 'tools/release/release-command.ts',
    does: 'make the files of a release: tarball, container image, lists of components',
  },
  screenshots: {
    script: 'tools/screenshots/screenshots-command.ts',
    does: 'take the pictures of README and documentation with Chromium',
  },
  'request-path': {
    script: 'tools/request-path/request-path-command.ts',
    does: 'list the files of the payments module that process a request',
  },
  'vague-words': {
    script: 'tools/architecture-rules/vague-words-command.ts',
    does: 'count vague words in texts and names',
  },
  'qr-provider': {
    script: 'packages/simulators/src/qr-provider/main.ts',
    does: 'run the QR provider simulator, and print its payments',
  },
  admin: {
    script: 'tools/admin/main.ts',
    args: ['admin'],
    does: 'operate the platform: create its operator, replace keys, rebuild reports; see -- --help',
  },
};

const startHelp = `npm start [-- --verbose | --version | --help]

Starts the platform with all parts that a first payment needs, and prints the portal users and a first
sale. --verbose also prints all addresses, applications, merchants and devices.
Settings are environment variables. To read a secret from a file, add _FILE to the name of its
setting, and give the path.

  SWITCHYARD_ENVIRONMENT   demo (default), test or production
  SWITCHYARD_DATA_DIR      directory of the embedded database, certificates and demo.json (.switchyard)
  SWITCHYARD_DATABASE_URL  URL of your own PostgreSQL (an embedded PostgreSQL)
  SWITCHYARD_HOST          address to listen on (localhost; required in production)
  SWITCHYARD_PORT          port of the API and of OAuth (8443)
  SWITCHYARD_DEVICE_PORT   port of devices, with mutual TLS (9021)
  SWITCHYARD_ACQUIRER_PORT port of the acquirer simulator (8583)
  SWITCHYARD_QR_PROVIDER_PORT  port of the QR provider simulator (8585, or a free port)
  SWITCHYARD_METRICS_PORT  port of metrics and health (9464)
  SWITCHYARD_LOG_LEVEL     trace, debug, info, warn, error or fatal

Every setting: docs/reference/settings.md
`;

class SetupFault extends Error {}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function lockedStamp() {
  const lock = read(path.join(root, 'package-lock.json'));
  if (lock === undefined)
    throw new SetupFault('package-lock.json is missing: clone the repository again.');
  const hash = crypto.createHash('sha256').update(lock).digest('hex');
  return `${hash} ${process.platform} ${process.arch}\n`;
}

/** True when npm's own record of node_modules already holds what the lock file asks for here. */
function installedByHand() {
  const record = read(path.join(modules, '.package-lock.json'));
  if (record === undefined) return false;
  const wanted = JSON.parse(read(path.join(root, 'package-lock.json'))).packages;
  const present = JSON.parse(record).packages;
  return Object.keys(wanted).every((name) => {
    if (!name.startsWith('node_modules/')) return true;
    const found = present[name];
    if (found === undefined) return !isNeededHere(wanted[name]);
    return found.version === wanted[name].version && found.integrity === wanted[name].integrity;
  });
}

/** An optional package without `os` and `cpu` is a dependency of one that has them. */
function isNeededHere({ optional, os: systems, cpu, libc }) {
  if (!optional) return true;
  if (systems === undefined || cpu === undefined || libc !== undefined) return false;
  return [].concat(systems).includes(process.platform) && [].concat(cpu).includes(process.arch);
}

function holderIsAlive() {
  const pid = Number(read(path.join(lockFolder, 'pid')));
  if (!pid) return fs.existsSync(lockFolder) && Date.now() - fs.statSync(lockFolder).mtimeMs < 5000;
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return fault.code === 'EPERM';
  }
}

/** Two starts at once must not both empty node_modules: one works, the other waits. */
function takeLock() {
  const deadline = Date.now() + lockWaitMs;
  fs.mkdirSync(path.dirname(lockFolder), { recursive: true });
  for (let isAnnounced = false; ; ) {
    try {
      fs.mkdirSync(lockFolder);
      fs.writeFileSync(path.join(lockFolder, 'pid'), String(process.pid));
      return;
    } catch (fault) {
      if (fault.code !== 'EEXIST') throw fault;
    }
    if (!holderIsAlive()) {
      dropLock();
      continue;
    }
    if (Date.now() > deadline)
      throw new SetupFault(
        `Another process has not finished the installation of the packages. If no other npm command runs here, delete the directory ${lockFolder} and start again.`,
      );
    if (!isAnnounced)
      say(
        'Another process is installing the packages in this directory. Waiting until it has finished …',
      );
    isAnnounced = true;
    pause(200);
  }
}

function dropLock() {
  const gone = `${lockFolder}.${process.pid}`;
  try {
    fs.renameSync(lockFolder, gone);
  } catch {
    return;
  }
  fs.rmSync ? fs.rmSync(gone, { recursive: true }) : fs.rmdirSync(gone, { recursive: true });
}

/** The npm that started us, under the Node that it came with; else the one on the PATH. */
function npmCommand() {
  const cli = process.env.npm_execpath;
  const node = process.env.npm_node_execpath;
  const ours = node !== undefined && path.resolve(node).startsWith(modules + path.sep);
  if (cli !== undefined && /npm-cli\.c?js$/.test(cli) && node !== undefined && !ours)
    return [node, cli];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
}

/** Without node_modules/.bin: npm must not run under a Node that it is about to delete. */
function pathOutsideModules() {
  const parts = (process.env.PATH || '').split(path.delimiter);
  return parts.filter((part) => !path.resolve(part).startsWith(modules)).join(path.delimiter);
}

function npm(args, stdio) {
  const [command, ...first] = npmCommand();
  const env = { ...process.env, PATH: pathOutsideModules() };
  return spawnSync(command, [...first, ...args], { cwd: root, env, stdio, encoding: 'utf8' });
}

function installPackages() {
  const version = npm(['--version'], ['ignore', 'pipe', 'pipe']);
  if (version.error)
    throw new SetupFault('npm was not found. Install Node.js 24 with npm: https://nodejs.org');
  if (parseInt(version.stdout, 10) < npmMajor) {
    throw new SetupFault(
      `npm ${version.stdout.trim()} is too old for workspaces: npm ${npmMajor} or newer is needed.`,
    );
  }
  say(
    'Installing the packages of package-lock.json (npm ci). Later starts install again only if package-lock.json has changed …',
  );
  const began = Date.now();
  const done = npm(['ci', ...installFlags], ['ignore', 2, 2]);
  if (done.error) throw new SetupFault(`npm could not be started: ${done.error.message}`);
  if (done.status !== 0) {
    throw new SetupFault(
      `npm ci failed (exit code ${done.status}). Its output is above. The platform was not started. Correct the fault and start again.`,
    );
  }
  say(`Installed in ${((Date.now() - began) / 1000).toFixed(1)} s.`);
}

function setUp() {
  const stamp = lockedStamp();
  if (read(stampFile) === stamp) return;
  takeLock();
  try {
    if (read(stampFile) === stamp) return;
    if (!installedByHand()) installPackages();
    fs.writeFileSync(stampFile, stamp);
  } finally {
    dropLock();
  }
}

function findNode() {
  if (isNewEnough()) return process.execPath;
  const bundled = bundledNode(root);
  if (bundled !== undefined) return bundled;
  throw new SetupFault(
    `Switchyard needs Node.js ${nodeMajor}, but this is Node.js ${process.versions.node} on ${process.platform}-${process.arch}. ` +
      `The packages contain no Node.js for this system. Install Node.js ${nodeMajor} from https://nodejs.org and start again.`,
  );
}

/**
 * A service may not write into the packages, and then its own directory has the cache. It is never in a shared
 * temporary folder: another account could put code into it.
 */
function compileCache() {
  const folder = path.join(modules, '.cache', 'node-compile');
  try {
    fs.mkdirSync(folder, { recursive: true });
    fs.accessSync(folder, fs.constants.W_OK);
    return folder;
  } catch {
    const dataFolder = process.env.SWITCHYARD_DATA_DIR;
    return dataFolder && path.resolve(dataFolder, 'node-compile');
  }
}

function environmentFor(node) {
  const env = { ...process.env };
  const first = [path.dirname(node), path.join(modules, '.bin')];
  env.PATH = [...first, env.PATH || ''].join(path.delimiter);
  const cache = env.NODE_COMPILE_CACHE || compileCache();
  if (cache) env.NODE_COMPILE_CACHE = cache;
  return env;
}

/** Our flags, without those that the caller has set in NODE_OPTIONS (a command line would win). */
function flagsFor(target) {
  const chosen = process.env.NODE_OPTIONS || '';
  return (target.flags || []).filter(
    (flag) => !chosen.replace(/_/g, '-').includes(flag.split('=')[0]),
  );
}

/**
 * Runs the background command of a target with low priority. In production the sites are built before the
 * start.
 */
function startInBackground({ background, backgroundStopsWithTarget }, node) {
  if (background === undefined || process.env.SWITCHYARD_ENVIRONMENT === 'production') return;
  const [script, ...args] = background;
  const child = spawn(node, [path.join(root, script), ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: environmentFor(node),
  });
  if (child.pid !== undefined)
    os.setPriority(child.pid, os.constants.priority.PRIORITY_BELOW_NORMAL);
  child.on('error', (fault) => say(`switchyard: ${script} could not be started: ${fault.message}`));
  // Its exit does not end this process.
  child.unref();
  if (backgroundStopsWithTarget) process.once('exit', () => child.kill());
}

function run(target, args) {
  const node = findNode();
  const script = path.join(root, target.script);
  if (!fs.existsSync(script)) throw new SetupFault(`${target.script} is missing.`);
  if (!target.backgroundAfterPortCheck) startInBackground(target, node);
  endWithNpm();
  const program = target.findBundle?.(root) || script;
  const all = [...flagsFor(target), program, ...(target.args || []), ...args];
  const environment = { ...target.variables, ...environmentFor(node) };
  const child = runUnder(
    node,
    all,
    environment,
    (fault) => end(new SetupFault(`${node} could not be started: ${fault.message}`)),
    target.backgroundAfterPortCheck,
  );
  if (target.backgroundAfterPortCheck) child.once('message', () => startInBackground(target, node));
}

function usage() {
  const lines = Object.keys(targets).map((name) => `  ${name.padEnd(15)}${targets[name].does}`);
  return `node tools/run.cjs <command> [arguments]\n\n${lines.join('\n')}\n`;
}

function end(fault) {
  say(fault instanceof SetupFault ? `switchyard: ${fault.message}` : fault.stack);
  process.exit(1);
}

function main([name, ...args]) {
  const target = targets[name];
  if (target === undefined) {
    process.stderr.write(usage());
    process.exit(name === '--help' ? 0 : 2);
  }
  if (name === 'start' && (args.includes('--help') || args.includes('-h'))) {
    process.stdout.write(startHelp);
    return;
  }
  const unknown = args.find((arg) => !['--', '--verbose', '--version'].includes(arg));
  if (name === 'start' && unknown !== undefined) {
    console.error(
      `npm start does not accept the argument ${unknown}. Use environment variables; see npm start -- --help`,
    );
    process.exit(2);
  }
  try {
    setUp();
    run(target, args);
  } catch (fault) {
    end(fault);
  }
}

module.exports = { serverFlags, serverVariables, installedByHand };
if (require.main === module) main(process.argv.slice(2));

// Runs the `switchyard` command over real TLS: in this process, or its bin as a separate process.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import type { TestOrganization } from '../test-organization.ts';
import { inheritedEnvironment } from './server-process.ts';

const bin = fileURLToPath(new URL('../../../../cli/bin/switchyard.cjs', import.meta.url));
const source = (name: string): string =>
  new URL(`../../../../cli/src/${name}`, import.meta.url).href;
const endsWithinMs = 120_000;

export type CommandResult = {
  code: number | null;
  stdout: string;
  stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of many shapes
  json(): any;
};

export type RunOptions = {
  env?: Record<string, string>;
  stdin?: string;
  /** Called with the child process, so that a test can end it; runs the bin. */
  onStarted?: (child: ChildProcess) => void;
  /** Runs the bin as a process, which is slower. */
  asProcess?: boolean;
  /** Aborting it has the effect of Ctrl+C. */
  stopping?: AbortSignal;
  /** Called after each write with the whole output so far. */
  onWritten?: (written: Readonly<Written>) => void;
  /** Width of the terminal; without it stdout is not a terminal. */
  columns?: number;
};

export type CommandLine = {
  /** The working directory; the configuration is in `home`. */
  folder: string;
  env: Record<string, string>;
  run(args: string[], options?: RunOptions): Promise<CommandResult>;
  file(name: string, text: string): string;
  remove(): void;
};

const json = (stdout: string, stderr: string) => JSON.parse(stdout === '' ? stderr : stdout);

type Written = { stdout: string; stderr: string };

function terminal(written: Written, name: keyof Written, { onWritten, columns }: RunOptions) {
  return {
    ...defined({ isTTY: columns === undefined ? undefined : true, columns }),
    write(text: string | Uint8Array, done?: (error?: Error | null) => void): boolean {
      written[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      onWritten?.(written);
      done?.();
      return true;
    },
  };
}

/** File names are relative to the working directory, so commands of one folder run at a time. */
const workingFolder = {
  folder: '',
  before: '',
  count: 0,
  left: Promise.resolve(),
  leave: () => {},
};

async function enterFolder(folder: string): Promise<void> {
  while (workingFolder.count > 0 && workingFolder.folder !== folder) await workingFolder.left;
  workingFolder.count += 1;
  if (workingFolder.count > 1) return;
  workingFolder.left = new Promise((resolve) => {
    workingFolder.leave = resolve;
  });
  Object.assign(workingFolder, { folder, before: process.cwd() });
  process.chdir(folder);
}

function leaveFolder(): void {
  workingFolder.count -= 1;
  if (workingFolder.count > 0) return;
  process.chdir(workingFolder.before);
  workingFolder.leave();
}

/** Runs the command in this process, as `packages/cli/src/main.ts` does. */
async function runInProcess(
  args: string[],
  env: Record<string, string>,
  options: RunOptions,
): Promise<CommandResult> {
  const { stdin = '', stopping = new AbortController().signal } = options;
  const { runCommandLine } = await import(source('program.ts'));
  const { createCommandRunner } = await import(source('command-line/command-runner.ts'));
  const { exitCodes } = await import(source('runtime/exit-codes.ts'));
  const written: Written = { stdout: '', stderr: '' };
  const environment = {
    env,
    clock: { now: () => Date.now() },
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    stdout: terminal(written, 'stdout', options),
    stderr: terminal(written, 'stderr', options),
    stopping,
  };
  const runner = createCommandRunner(environment);
  let code: number;
  try {
    await runCommandLine(environment, runner, args);
    code = runner.exitCode();
  } catch (error) {
    // A CommanderError: --help and --version, or an invalid command line.
    const errorCode = String((error as { code?: unknown }).code);
    if (!errorCode.startsWith('commander.')) throw error;
    const isHelpOrVersion = ['commander.helpDisplayed', 'commander.version'].includes(errorCode);
    code = isHelpOrVersion ? exitCodes.done : exitCodes.usage;
  }
  return { ...written, code, json: () => json(written.stdout, written.stderr) };
}

export function runCommand(
  args: string[],
  env: Record<string, string>,
  cwd: string,
  options: RunOptions = {},
): Promise<CommandResult> {
  const isProcess = options.asProcess === true || options.onStarted !== undefined;
  if (!isProcess) {
    const all = { ...inheritedEnvironment(), ...env, ...options.env };
    return enterFolder(cwd).then(() => runInProcess(args, all, options).finally(leaveFolder));
  }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd,
      env: { ...inheritedEnvironment(), ...env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: endsWithinMs,
    });
    const written: { stdout: string; stderr: string } = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8');
      child[name].on('data', (text: string) => {
        written[name] += text;
      });
    }
    options.onStarted?.(child);
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({
        ...written,
        code,
        json: () => json(written.stdout, written.stderr),
      }),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
  });
}

/** A command line without a sign-in. */
export function openCommandLine(env: Record<string, string> = {}): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-cli-'));
  const all = { SWITCHYARD_CLI_HOME: join(folder, 'home'), ...env };
  return {
    folder,
    env: all,
    run: (args, options) => runCommand(args, all, folder, options),
    file(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Signed in by variables as an application of the organisation, or of one merchant. */
export async function signedInCommandLine(
  setup: TestOrganization,
  role = 'AcquirerAdministrator',
  merchantId?: string,
): Promise<CommandLine & { clientId: string; clientSecret: string }> {
  const { clientId, clientSecret } = await setup.platform.identity.createApplication({
    organizationId: setup.organizationId,
    userDomainId: setup.realm,
    name: 'command line',
    entityType: merchantId === undefined ? 'tenant' : 'merchant',
    entityId: merchantId ?? setup.organizationId,
    merchantId,
    roles: [role],
    securityFlows: ['ClientCredentials'],
  });
  const line = openCommandLine();
  const env = {
    ...line.env,
    SWITCHYARD_CLI_URL: setup.settings.baseUrl,
    SWITCHYARD_CLI_USER_DOMAIN: setup.realm,
    SWITCHYARD_CLI_CLIENT_ID: clientId,
    SWITCHYARD_CLI_CLIENT_SECRET: clientSecret,
    SWITCHYARD_CLI_CA_FILE: line.file('ca.pem', setup.ca),
  };
  return {
    ...line,
    env,
    clientId,
    clientSecret,
    run: (args, options) => runCommand(args, env, line.folder, options),
  };
}

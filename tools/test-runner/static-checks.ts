// The static checks as a table: what to run, and how to tell from its output that it saw the code.
// A tool that reads no file reports no fault, so each check counts the files that the tool read.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';

export type StaticCheck = {
  name: string;
  /** A script under node_modules or tools, and its arguments; always run by our own Node. */
  command: [script: string, ...args: string[]];
  /** The files or folders to check, the last arguments; the other checks find theirs by themselves. */
  targets?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** How many files the tool says that it read. */
  filesSeen?: (output: string) => number;
};

export type CheckResult = { name: string; ok: boolean; output: string; durationMs: number };

const filesLeast = 20;
const outputLinesMax = 200;
const checkLimitMs = 600_000;

function countFrom(pattern: RegExp): (output: string) => number {
  return (output) => Number(pattern.exec(output)?.[1] ?? 0);
}

function ownFiles(output: string): number {
  return output.split('\n').filter((line) => /\.tsx?$/.test(line) && !line.includes('node_modules'))
    .length;
}

/** Several checkers work out the same types, each for itself: on two cores they take twice the time of one. */
export const compilerCommand = ['node_modules/typescript/bin/tsc', '--checkers', '1'] as const;

/** The compiler stores its results for each file, so that the next run reads only changed files. */
function buildInfo(name: string): string[] {
  return ['--incremental', '--tsBuildInfoFile', `.cache/types-of-${name}.tsbuildinfo`];
}

/** For programs in Go, which end soon: fewer garbage collections need more memory and save a third of their time. */
export const compilerEnvironment: Readonly<Record<string, string>> = { GOGC: '400' };

export const staticChecks: StaticCheck[] = [
  {
    name: 'biome',
    command: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
    targets: ['.'],
    filesSeen: countFrom(/Checked (\d+) files?/),
  },
  {
    name: 'types',
    command: [...compilerCommand, '--noEmit', '-p', '.', '--listFiles', ...buildInfo('server')],
    filesSeen: ownFiles,
  },
  {
    // What runs in browsers knows other types than what runs under Node.
    name: 'types of the portal',
    command: [
      ...compilerCommand,
      '--noEmit',
      '-p',
      'packages/portal',
      '--listFiles',
      ...buildInfo('portal'),
    ],
    filesSeen: ownFiles,
  },
  {
    name: 'promises',
    command: ['node_modules/oxlint/bin/oxlint', '--type-aware'],
    targets: ['packages', 'tools'],
    env: { GOMAXPROCS: '1' },
    filesSeen: countFrom(/on (\d+) files?/),
  },
  {
    name: 'knip',
    command: ['node_modules/knip/bin/knip.js', '--treat-config-hints-as-errors', '--no-progress'],
  },
  {
    name: 'interface documents',
    // The documents describe the demo, whose host is localhost; sign-in pages answer with redirects only.
    command: [
      'node_modules/@redocly/cli/bin/cli.js',
      'lint',
      '--extends=recommended-strict',
      '--skip-rule=no-server-example.com',
      '--skip-rule=operation-2xx-response',
    ],
    targets: ['openapi', 'acquirer-spi', 'provider-spi'].map(
      (name) => `docs/reference/${name}.json`,
    ),
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  },
  { name: 'generated', command: ['tools/generate/generate-command.ts', '--check'] },
];

/**
 * The checks that take seconds: the types of all files, and the rules of the changed files alone.
 *
 * @param files changed files, from the top of the repository; deleted ones are left out
 */
export function checksOfFiles(files: readonly string[]): StaticCheck[] {
  const existing = files.filter((path) => existsSync(join(repositoryRoot, path)));
  const targetsOf: Record<string, string[]> = {
    biome: existing.filter((path) => /\.(?:[cm]?[jt]sx?|json|css)$/.test(path)),
    promises: existing.filter((path) => /^(?:packages|tools)\/.*\.tsx?$/.test(path)),
  };
  return staticChecks.flatMap((check) => {
    if (check.name.startsWith('types')) return [check];
    const targets = targetsOf[check.name] ?? [];
    if (targets.length === 0) return [];
    const { filesSeen: _, ...others } = check;
    return [{ ...others, targets }];
  });
}

/** Runs one check in a folder; `least` is how many files it has to have seen. */
export async function runStaticCheck(
  check: StaticCheck,
  folder: string = repositoryRoot,
  least: number = filesLeast,
): Promise<CheckResult> {
  const began = performance.now();
  const [script, ...args] = check.command;
  const command = [join(folder, script), ...args, ...(check.targets ?? [])];
  const { code, output } = await capture(command, folder, check.env);
  const filesRead = check.filesSeen?.(output) ?? least;
  const blind = code === 0 && filesRead < least;
  const outputLines = output.split('\n').filter((line) => !isListing(line));
  if (blind)
    outputLines.push(`${check.name} saw ${filesRead} files, at least ${least} were expected`);
  const durationMs = performance.now() - began;
  return { name: check.name, ok: code === 0 && !blind, output: shorten(outputLines), durationMs };
}

function shorten(lines: string[]): string {
  const more = lines.length - outputLinesMax;
  const outputLines = lines.slice(0, outputLinesMax).join('\n').trim();
  return more > 0 ? `${outputLines}\n… and ${more} more lines` : outputLines;
}

/** What tsc adds to its faults under --listFiles: one absolute path a line. */
function isListing(line: string): boolean {
  return line.startsWith('/') && existsSync(line);
}

function capture(
  args: string[],
  folder: string,
  variables: StaticCheck['env'],
): Promise<{ code: number; output: string }> {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: checkLimitMs,
      env: { ...process.env, ...compilerEnvironment, ...variables },
    });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.stderr.on('data', (part: Buffer) => parts.push(part));
    child.on('error', (fault) => done({ code: 1, output: fault.message }));
    child.on('close', (code, signal) => {
      if (signal !== null) parts.push(Buffer.from(`\nended by ${signal}`));
      done({ code: code ?? 1, output: Buffer.concat(parts).toString('utf8') });
    });
  });
}

// Takes the commands out of a page, so that a test can run them as a reader would.
import { execFile, spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const limitMs = 200_000;

/** The text under a heading, up to the next one of the same or a higher level. */
function section(markdown: string, title: string): string {
  const lines = markdown.split('\n');
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === title);
  if (from === -1) throw new Error(`no heading says “${title}”`);
  const level = lines[from]?.indexOf(' ') ?? 0;
  const length = lines.slice(from + 1).findIndex((line) => {
    const hashes = /^(#+) /.exec(line)?.[1];
    return hashes !== undefined && hashes.length <= level;
  });
  return lines.slice(from + 1, length === -1 ? undefined : from + 1 + length).join('\n');
}

/**
 * The `sh` blocks of a section in order. Variables and functions of an earlier block are used in the
 * later ones.
 *
 * @example
 * const script = shellBlocks(page, 'Take the first payment').join('\n');
 * spawnSync('bash', ['-e', '-c', script]);
 */
export function shellBlocks(markdown: string, title: string): string[] {
  const fences = section(markdown, title).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, block = '']) => block);
}

/** The block that is named behind the language of its fence, as in `sh till`. */
export function namedBlock(markdown: string, name: string): string {
  const fences = markdown.matchAll(/^```sh (\S+)\n([\s\S]*?)^```$/gm);
  for (const [, fence, block = ''] of fences) if (fence === name) return block;
  throw new Error(`no block is named “${name}”`);
}

/** The tools that a page needs and this machine has not, as the reason to skip its test; false if none. */
export function absentTools(...tools: readonly string[]): string | false {
  const absent = tools.filter(
    (tool) => spawnSync(tool, [tool === 'openssl' ? 'version' : '--version']).status !== 0,
  );
  return absent.length > 0 && `there is no ${absent.join(', no ')}`;
}

/** The environment of a user with this home directory, and with our Node. */
export function shellEnvironment(
  home: string,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const path = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  return { HOME: home, PATH: path, ...variables };
}

/** Runs blocks as one script that ends at the first failure; returns what it printed. */
export async function runShell(
  blocks: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const script = ['set -euo pipefail', ...blocks].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    cwd,
    timeout: limitMs,
    env,
  });
  return stdout;
}

// Takes the commands out of a page, so that a test can run them as a reader would.
import { execFile, spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const limitMs = 200_000;

/** The text under a heading, up to the next one of the same or a higher level. Comments in code are no headings. */
function section(markdown: string, title: string): string {
  let isCode = false;
  const lines = markdown.split('\n').map((text) => {
    const isFence = /^ *```/.test(text);
    if (isFence) isCode = !isCode;
    const [, hashes = '', heading] = (!isCode && /^(#+) (.+)$/.exec(text)) || [];
    return { text, level: hashes.length, heading };
  });
  const from = lines.findIndex(({ heading }) => heading === title);
  const start = lines[from];
  if (start === undefined) throw new Error(`no heading says “${title}”`);
  const rest = lines.slice(from + 1);
  const length = rest.findIndex(({ level }) => level > 0 && level <= start.level);
  return rest
    .slice(0, length === -1 ? undefined : length)
    .map(({ text }) => text)
    .join('\n');
}

/**
 * The `sh` blocks of a section in order. Variables and functions of an earlier block are used in the
 * later ones. Blocks that are marked as `not-run` are left out.
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
  const fences = markdown.matchAll(/^```sh (\S+)(?: [^\n]*)?\n([\s\S]*?)^```$/gm);
  for (const [, fence, block = ''] of fences) if (fence === name) return block;
  throw new Error(`no block is named “${name}”`);
}

export type CommandBlock = {
  readonly line: number;
  /** The reason in the mark `not-run="…"`. */
  readonly notRun: string | undefined;
};

/** All blocks with commands: `sh` blocks, and sessions whose commands begin with `$`. */
export function commandBlocks(markdown: string): CommandBlock[] {
  const fences = markdown.matchAll(/^( *)```([^\n]*)\n([\s\S]*?)^\1```$/gm);
  return [...fences]
    .filter(([, , info = '', text = '']) => /^sh\b/.test(info) || /^ *\$ /m.test(text))
    .map(({ index, 2: info = '' }) => ({
      line: markdown.slice(0, index).split('\n').length,
      notRun: /\bnot-run="([^"]*)"/.exec(info)?.[1],
    }));
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

/** Asks the person at the keyboard; where nobody sits there, it reads a line or says no. */
import { createInterface } from 'node:readline/promises';
import { CommandFault, fail } from '../faults.ts';
import type { World } from '../world.ts';

const lineMax = 8192;
const ctrlC = 3;
const ctrlD = 4;
const backspaces = [8, 127];
const lineEnds = [10, 13];

/** One line from a terminal, not shown; from a pipe its first line. */
export async function askSecret({ stdin, stderr }: World, question: string): Promise<string> {
  const isHidden = stdin.isTTY === true && stdin.setRawMode !== undefined;
  if (isHidden) stderr.write(question);
  stdin.setRawMode?.(isHidden);
  try {
    return await readLine(stdin);
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    if (isHidden) stderr.write('\n');
  }
}

async function readLine(stdin: World['stdin']): Promise<string> {
  const bytes: number[] = [];
  for await (const part of stdin as AsyncIterable<Buffer>) {
    for (const byte of part) {
      if (byte === ctrlC) throw new CommandFault('interrupted', 'Interrupted.');
      if (lineEnds.includes(byte) || byte === ctrlD) return Buffer.from(bytes).toString('utf8');
      if (backspaces.includes(byte)) bytes.pop();
      else bytes.push(byte);
      if (bytes.length > lineMax) fail('usage', 'That is too long for a secret.');
    }
  }
  return Buffer.from(bytes).toString('utf8');
}

/** Without a terminal nobody can answer: the option has to be there. */
export async function confirm(
  { stdin, stderr, stopping }: World,
  question: string,
  option: string,
): Promise<void> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    fail('usage', question, `Nobody is here to answer: say ${option}.`);
  }
  const lines = createInterface({ input: stdin, output: stderr as NodeJS.WritableStream });
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: stopping });
    if (!/^y(?:es)?$/i.test(answer.trim()))
      throw new CommandFault('interrupted', 'Nothing was done.');
  } finally {
    lines.close();
  }
}

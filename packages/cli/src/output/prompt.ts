/** Asks the person at the keyboard; where nobody sits there, it reads a line or says no. */
import { createInterface } from 'node:readline/promises';
import { CommandFault, fail } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';

const lineMax = 8192;
const ctrlC = 3;
const ctrlD = 4;
const backspaces = [8, 127];
const lineFeed = 10;
const carriageReturn = 13;

/** One line from a terminal, not shown; from a pipe its first line. */
export async function askSecret(world: World, question: string): Promise<string> {
  const [answer = ''] = await askSecrets(world, [question]);
  return answer;
}

/** Lines from a terminal, not shown; from a pipe its first lines. */
export async function askSecrets(
  { stdin, stderr }: World,
  questions: readonly string[],
): Promise<string[]> {
  const isHidden = stdin.isTTY === true && stdin.setRawMode !== undefined;
  const ask = (at: number) => {
    if (isHidden) stderr.write(questions[at] ?? '');
  };
  const answers: string[] = [];
  let bytes: number[] = [];
  let before = 0;
  stdin.setRawMode?.(isHidden);
  ask(0);
  try {
    for await (const part of stdin as AsyncIterable<Buffer>) {
      for (const byte of part) {
        if (byte === ctrlC) throw new CommandFault('interrupted', 'Interrupted.');
        const isSecondHalf = byte === lineFeed && before === carriageReturn;
        before = byte;
        if (isSecondHalf) continue;
        if ([lineFeed, carriageReturn, ctrlD].includes(byte)) {
          answers.push(Buffer.from(bytes).toString('utf8'));
          bytes = [];
          if (isHidden) stderr.write('\n');
          if (answers.length === questions.length) return answers;
          ask(answers.length);
        } else if (backspaces.includes(byte)) bytes.pop();
        else bytes.push(byte);
        if (bytes.length > lineMax) fail('usage', 'That is too long for a secret.');
      }
    }
    return bytes.length === 0 ? answers : [...answers, Buffer.from(bytes).toString('utf8')];
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
  }
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

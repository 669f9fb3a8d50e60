/** Asks the user for secrets and confirmations; without a terminal it reads lines from stdin. */
import { createInterface } from 'node:readline/promises';
import { CommandError, fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';

const lineMax = 8192;
const ctrlC = 3;
const ctrlD = 4;
const backspaces = [8, 127];
const lineFeed = 10;
const carriageReturn = 13;

/** One line: from a terminal without echo, or the first line of a pipe. */
export async function promptSecret(
  environment: RuntimeEnvironment,
  question: string,
): Promise<string> {
  const [answer = ''] = await promptSecrets(environment, [question]);
  return answer;
}

/** One line for each question: from a terminal without echo, or the first lines of a pipe. */
export async function promptSecrets(
  { stdin, stderr }: RuntimeEnvironment,
  questions: readonly string[],
): Promise<string[]> {
  const isHidden = stdin.isTTY === true && stdin.setRawMode !== undefined;
  const writeQuestion = (at: number) => {
    if (isHidden) stderr.write(questions[at] ?? '');
  };
  const answers: string[] = [];
  let bytes: number[] = [];
  let before = 0;
  stdin.setRawMode?.(isHidden);
  writeQuestion(0);
  try {
    for await (const part of stdin as AsyncIterable<Buffer>) {
      for (const byte of part) {
        if (byte === ctrlC) throw new CommandError('interrupted', 'Interrupted.');
        const isSecondHalf = byte === lineFeed && before === carriageReturn;
        before = byte;
        if (isSecondHalf) continue;
        if ([lineFeed, carriageReturn, ctrlD].includes(byte)) {
          answers.push(Buffer.from(bytes).toString('utf8'));
          bytes = [];
          if (isHidden) stderr.write('\n');
          if (answers.length === questions.length) return answers;
          writeQuestion(answers.length);
        } else if (backspaces.includes(byte)) bytes.pop();
        else bytes.push(byte);
        if (bytes.length > lineMax) fail('usage', `The secret is longer than ${lineMax} bytes.`);
      }
    }
    return bytes.length === 0 ? answers : [...answers, Buffer.from(bytes).toString('utf8')];
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
  }
}

/**
 * Waits until the user presses Enter.
 *
 * @throws CommandError interrupted after Ctrl+C
 */
export async function waitForEnter(
  { stdin, stderr, stopping }: RuntimeEnvironment,
  text: string,
): Promise<void> {
  const lines = createInterface({ input: stdin, output: stderr as NodeJS.WritableStream });
  try {
    await lines.question(`${text} Press Enter to continue. `, { signal: stopping });
  } catch (error) {
    // In a prompt, Ctrl+C is a key of the terminal and no signal of the process.
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
    throw new CommandError('interrupted', 'Interrupted.');
  } finally {
    lines.close();
  }
}

/** Without a terminal the option is required in place of an answer. */
export async function confirm(
  { stdin, stderr, stopping }: RuntimeEnvironment,
  question: string,
  option: string,
): Promise<void> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    fail('usage', question, `There is no terminal for the answer. Run the command with ${option}.`);
  }
  const lines = createInterface({ input: stdin, output: stderr as NodeJS.WritableStream });
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: stopping });
    if (!/^y(?:es)?$/i.test(answer.trim()))
      throw new CommandError('interrupted', 'You answered no; nothing was changed.');
  } finally {
    lines.close();
  }
}

// `switchyard admin setup`: everything that the first sale of a new platform needs, from one file.
import { existsSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { CommandContext } from '../../../packages/cli/src/command-line/command-runner.ts';
import { openSecretsFile } from '../../../packages/cli/src/estate/secrets-file.ts';
import { fail } from '../../../packages/cli/src/runtime/command-error.ts';
import { withApplication } from '../operator.ts';
import { readSetupFile, type SetupFile } from './setup-file.ts';
import { askQuestions } from './setup-questions.ts';
import { runSetupSteps, type StepName, type StepResult, stepPurposes } from './setup-steps.ts';

type SetupOptions = {
  readonly file: string;
  readonly secretsOut?: string;
  readonly showSecrets?: boolean;
};

/** Asks for what a missing file would contain, and saves the answers for the next run. */
async function readOrAsk(context: CommandContext, file: string): Promise<SetupFile> {
  if (!existsSync(file)) {
    const { environment, output } = context;
    output.printNote(`${file} does not exist. Your answers are saved in it.`);
    const answers = await askQuestions(environment);
    if (answers === undefined)
      fail('usage', `${file} does not exist, and the input ended before the last answer.`);
    writeFileSync(file, stringify(answers, { lineWidth: 0 }), { flag: 'wx' });
  }
  return readSetupFile(file);
}

function describeNextSteps({ operator, acquirer }: SetupFile, steps: readonly StepResult[]) {
  const nameOf = (name: StepName) => steps.find(({ step }) => step === name)?.name;
  const hasInvitation = [operator, acquirer].some((each) => each?.administrator !== undefined);
  return [
    `The platform connects to ${nameOf('approval of the link')} within ten seconds after its start: switchyard acquirer wait '${nameOf('link')}'`,
    ...(hasInvitation
      ? [
          'The running platform sends the invitations. The link of the mail sets the password and the one-time password.',
        ]
      : []),
    `The terminal needs a certificate: switchyard devices enrol ${nameOf('terminal')}`,
    'Both commands need a sign-in at the acquirer: switchyard login --help',
  ];
}

/** Works before the first start of the platform and beside it. */
export async function runSetup(
  context: CommandContext,
  _args: string[],
  { file: name, secretsOut, showSecrets = false }: SetupOptions,
): Promise<void> {
  if (secretsOut === undefined && !showSecrets)
    fail(
      'usage',
      'The setup creates client secrets, which exist only once. Name a file with --secrets-out, or print them on stderr with --show-secrets.',
    );
  const file = await readOrAsk(context, name);
  const { output } = context;
  await withApplication(context, 'setup', async (application) => {
    const steps: StepResult[] = [];
    const secrets = openSecretsFile(secretsOut, showSecrets ? output.printNote : undefined);
    let current: StepName | undefined;
    const begin = (step: StepName) => {
      current = step;
      output.printNote(`${step}: ${stepPurposes[step]}`);
    };
    const report = (step: StepResult) => void steps.push(step);
    try {
      await runSetupSteps({ ...application, secrets, begin, report }, file);
      current = undefined;
    } finally {
      secrets.close();
      if (current !== undefined)
        output.printNote(
          `The step "${current}" failed. The steps before it are done. Correct the cause, and run the command again.`,
        );
      output.printResult({ steps }, () =>
        output.formatTable(
          ['step', 'result', 'name', { title: 'id', value: ({ id }) => id, neverTruncate: true }],
          steps,
        ),
      );
    }
    for (const { step, differences } of steps) {
      if (differences !== undefined)
        output.printNote(
          `The ${step} exists with other values of ${differences.join(', ')}; it was not changed.`,
        );
    }
    for (const line of describeNextSteps(file, steps)) output.printNote(line);
  });
}

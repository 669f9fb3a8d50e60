// `switchyard admin hsm-keys`: brings keys into the software HSM by components of custodians.
import { defined } from '@switchyard/contract';
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { promptSecrets } from '../../packages/cli/src/output/prompt.ts';
import { readSettings } from '../../packages/server/src/platform/index.ts';
import { createKeyCeremony } from '../../packages/server/src/vault/index.ts';

type CeremonyKey = Parameters<ReturnType<typeof createKeyCeremony>['addComponent']>[0];

type ComponentOptions = Omit<CeremonyKey, 'name' | 'devices'> & {
  readonly custodian: string;
  readonly devices?: readonly string[];
  readonly checkValue?: string;
};

function openCeremony({ environment }: CommandContext) {
  const { hsm, dataDir } = readSettings(environment.env);
  if (hsm !== 'software')
    throw new Error(
      `SWITCHYARD_HSM is ${hsm}: this command is only for the software HSM; load the keys into the HSM itself`,
    );
  return createKeyCeremony(dataDir);
}

async function askSecrets({ environment }: CommandContext, questions: readonly string[]) {
  const answers = await promptSecrets(
    environment,
    questions.map((question) => `${question}: `),
  );
  return answers.map((answer) => answer.trim());
}

export async function addCustodian(context: CommandContext, [name = '']: string[]): Promise<void> {
  const ceremony = openCeremony(context);
  const [passphrase = '', repeated = ''] = await askSecrets(context, [
    `Passphrase of ${name}`,
    `Passphrase of ${name} again`,
  ]);
  if (passphrase !== repeated) throw new Error('the two passphrases differ');
  ceremony.addCustodian(name, passphrase);
  context.output.printResult({ custodian: name }, () => `${name} is a custodian.\n`);
}

export async function addComponent(
  context: CommandContext,
  [name = '']: string[],
  { custodian, checkValue, usage, algorithm, devices = [], of, derivation }: ComponentOptions,
): Promise<void> {
  const ceremony = openCeremony(context);
  const [passphrase = '', text = ''] = await askSecrets(context, [
    `Passphrase of ${custodian}`,
    'Component in hexadecimal',
  ]);
  const digits = text.replaceAll(' ', '');
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(digits))
    throw new Error('the component must be pairs of hexadecimal digits');
  const key = { name, usage, algorithm, devices, of, ...defined({ derivation }) };
  const component = Buffer.from(digits, 'hex');
  const progress = ceremony.addComponent(key, {
    custodian,
    passphrase,
    component,
    ...defined({ checkValue }),
  });
  const { entered, componentCheckValue, checkValue: keyCheckValue } = progress;
  context.output.printResult(progress, () => {
    const line = `component ${entered} of ${progress.of}: check value ${componentCheckValue}\n`;
    const isComplete = keyCheckValue !== undefined;
    return `${line}${isComplete ? `${name} is complete: check value ${keyCheckValue}\n` : ''}`;
  });
  if (keyCheckValue !== undefined)
    context.output.printNote('Restart the platform to load the key.');
}

export async function listHsmKeys(context: CommandContext): Promise<void> {
  const { output } = context;
  const { keys, pending } = openCeremony(context).list();
  const completeKeys = keys.map(({ name, usage, algorithm, checkValue, devices }) => ({
    name,
    usage,
    algorithm,
    checkValue,
    devices,
  }));
  const rows = [
    ...completeKeys,
    ...pending.map(({ entered, of, ...key }) => ({ ...key, checkValue: `${entered} of ${of}` })),
  ];
  const checkValue = { title: 'CHECK VALUE', value: (row: (typeof rows)[0]) => row.checkValue };
  output.printResult({ keys: completeKeys, pending }, () =>
    rows.length === 0
      ? 'Nothing found.\n'
      : output.formatTable(['name', 'usage', 'algorithm', checkValue, 'devices'], rows),
  );
}

export async function removeKey(context: CommandContext, [name = '']: string[]): Promise<void> {
  openCeremony(context).remove(name);
  context.output.printResult({ removed: name }, () => `${name} is deleted.\n`);
}

// What `npm run hsm-keys` does with its arguments: custodians, components, the list, an end.
import { parseArgs } from 'node:util';
import { defined } from '@switchyard/contract';
import type { Terminal } from './terminal.ts';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };

const usageText = `npm run hsm-keys -- custodian NAME
    Adds a custodian of key components, with a passphrase of at least 12 characters.

npm run hsm-keys -- component KEY --custodian NAME --usage USAGE --algorithm Tdes|Aes
                    [--of N] [--devices BEGINNING,…] [--derivation ALGORITHM] [--check-value DIGITS]
    Reads one component of a key from a hidden prompt. Each component has another custodian. The last
    component completes the key, which is stored encrypted. Only check values are shown.
    --usage         BaseDerivation, KeyEncryption, TerminalPin, ZonePin or Mac
    --of            number of components                       (2)
    --devices       of a base derivation key: prefixes of the serial numbers of its devices
    --derivation    of a base derivation key: type of the working keys, TDES_2KEY, TDES_3KEY,
                    AES_128, AES_192 or AES_256         (TDES_2KEY of Tdes, AES_128 of Aes)
    --check-value   of the whole key: if it differs, all components are discarded

npm run hsm-keys -- list [--json]
    Lists keys and incomplete keys with name, purpose and check value.

npm run hsm-keys -- remove KEY
    Deletes a key, or the components of an incomplete key.

For the software HSM of demo and test: in production, load keys into the HSM itself (docs/how-to/connect-an-hsm.md).
The command reads the settings of the platform (SWITCHYARD_…). The platform loads a new key at its next start.
Exit codes: 0 done, 1 failed, 2 wrong usage.
`;

class UsageFault extends Error {}

const flags = {
  custodian: { type: 'string' },
  usage: { type: 'string' },
  algorithm: { type: 'string' },
  of: { type: 'string', default: '2' },
  devices: { type: 'string', default: '' },
  derivation: { type: 'string' },
  'check-value': { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const usages = ['BaseDerivation', 'KeyEncryption', 'TerminalPin', 'ZonePin', 'Mac'] as const;
const algorithms = ['Tdes', 'Aes'] as const;
const derivations = ['TDES_2KEY', 'TDES_3KEY', 'AES_128', 'AES_192', 'AES_256'] as const;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

type Values = ReturnType<typeof parse>['values'];

function oneOf<const Words extends readonly string[]>(
  text: string | undefined,
  words: Words,
  flag: string,
): Words[number] {
  const matched = words.find((word) => word === text);
  if (matched === undefined) throw new UsageFault(`--${flag} is one of ${words.join(', ')}`);
  return matched;
}

function wantedOf(name: string, values: Values) {
  const of = Number(values.of);
  if (!/^[2-5]$/.test(values.of)) throw new UsageFault('--of is 2 to 5');
  const derivation =
    values.derivation === undefined
      ? undefined
      : oneOf(values.derivation, derivations, 'derivation');
  return {
    name,
    usage: oneOf(values.usage, usages, 'usage'),
    algorithm: oneOf(values.algorithm, algorithms, 'algorithm'),
    devices: values.devices === '' ? [] : values.devices.toUpperCase().split(','),
    of,
    ...defined({ derivation }),
  };
}

/** Loaded only then: who mistyped a word need not wait for the platform's code. */
async function ceremonyOf(env: Readonly<Record<string, string | undefined>>) {
  const { readSettings } = await import('../../packages/server/src/platform/index.ts');
  const { createKeyCeremony } = await import('../../packages/server/src/vault/index.ts');
  const { hsm, dataDir } = readSettings(env);
  if (hsm !== 'software') throw new Error(`SWITCHYARD_HSM is ${hsm}: its keys go into the module`);
  return createKeyCeremony(dataDir);
}

type Ceremony = Awaited<ReturnType<typeof ceremonyOf>>;

async function takeCustodian(ceremony: Ceremony, name: string, terminal: Terminal): Promise<void> {
  const passphrase = await terminal.ask(`Passphrase of ${name}`, true);
  if ((await terminal.ask('Once more', true)) !== passphrase) throw new Error('the two differ');
  ceremony.addCustodian(name, passphrase);
  terminal.print(`${name} is a custodian.\n`);
}

async function takeComponent(
  ceremony: Ceremony,
  name: string,
  values: Values,
  terminal: Terminal,
): Promise<void> {
  const keyOptions = wantedOf(name, values);
  const { custodian, 'check-value': checkValue } = values;
  if (custodian === undefined) throw new UsageFault('--custodian: who brings it?');
  const passphrase = await terminal.ask(`Passphrase of ${custodian}`, true);
  const text = (await terminal.ask('Component in hexadecimal', true)).replaceAll(' ', '');
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(text)) throw new Error('a component is hexadecimal digits');
  const component = Buffer.from(text, 'hex');
  const progress = ceremony.addComponent(keyOptions, {
    custodian,
    passphrase,
    component,
    ...defined({ checkValue }),
  });
  terminal.print(
    `component ${progress.entered} of ${progress.of}: check value ${progress.componentCheckValue}\n`,
  );
  if (progress.checkValue !== undefined) {
    terminal.print(`${name} is made: check value ${progress.checkValue}\n`);
    terminal.warn('The platform finds it at its next start.\n');
  }
}

function printList(ceremony: Ceremony, json: boolean, terminal: Terminal): void {
  const { keys, pending } = ceremony.list();
  const keyViews = keys.map(({ name, usage, algorithm, checkValue, devices }) => ({
    name,
    usage,
    algorithm,
    checkValue,
    devices,
  }));
  if (json) {
    terminal.print(`${JSON.stringify({ keys: keyViews, pending })}\n`);
    return;
  }
  for (const { name, usage, algorithm, checkValue, devices } of keyViews) {
    const columns = [name.padEnd(24), usage.padEnd(14), algorithm.padEnd(4), checkValue];
    terminal.print(`${[...columns, devices.join(' ')].join('  ').trimEnd()}\n`);
  }
  for (const { name, usage, algorithm, entered, of } of pending) {
    terminal.print(
      `${name.padEnd(24)}  ${usage.padEnd(14)}  ${algorithm.padEnd(4)}  ${entered} of ${of}\n`,
    );
  }
}

async function run(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<void> {
  const { values, positionals } = parse(args);
  const [command, name, ...rest] = positionals;
  if (values.help) {
    terminal.print(usageText);
    return;
  }
  if (rest.length > 0) throw new UsageFault(`unexpected: ${rest.join(' ')}`);
  if (command === 'list' && name === undefined) {
    printList(await ceremonyOf(env), values.json, terminal);
    return;
  }
  if (command !== 'custodian' && command !== 'component' && command !== 'remove') {
    throw new UsageFault('custodian, component, list or remove?');
  }
  if (name === undefined) throw new UsageFault(`${command}: whose name?`);
  if (command === 'component') wantedOf(name, values);
  const ceremony = await ceremonyOf(env);
  if (command === 'custodian') return takeCustodian(ceremony, name, terminal);
  if (command === 'component') return takeComponent(ceremony, name, values, terminal);
  ceremony.remove(name);
  terminal.print(`${name} is forgotten.\n`);
}

/** @returns the exit code */
export async function runHsmKeys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
): Promise<number> {
  try {
    await run(args, env, terminal);
    return exitCodes.done;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const wrongUsage = error instanceof UsageFault;
    terminal.warn(wrongUsage ? `hsm-keys: ${message}\n\n${usageText}` : `hsm-keys: ${message}\n`);
    return wrongUsage ? exitCodes.wrongUsage : exitCodes.failed;
  } finally {
    terminal.close();
  }
}

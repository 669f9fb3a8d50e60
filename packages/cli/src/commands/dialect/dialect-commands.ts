/** `switchyard dialect`: checks, explains and imports tables of acquirer hosts. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import {
  findHostTable,
  HostTableError,
  hostTableNames,
  Iso8583Error,
  readHostTable,
} from '@switchyard/iso8583';
import { InvalidArgumentError } from 'commander';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import {
  type ExplainedMessage,
  explainRecorded,
  explainSample,
  sampleNames,
} from '../../dialect/explain-message.ts';
import { formatExplanation } from '../../dialect/format-explanation.ts';
import { channelNames, findChannelName } from '../../dialect/packager/channels.ts';
import { convertPackager, type ImportedTable } from '../../dialect/packager/convert-packager.ts';
import { readPackager } from '../../dialect/packager/read-packager.ts';
import { readTableFile } from '../../dialect/read-table-file.ts';
import { describeFileError, fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

async function check({ output }: CommandContext, [file = '']: string[]): Promise<void> {
  const { name } = readTableFile(file);
  output.printResult({ valid: true, name }, () => `The host table ${name} is valid.\n`);
  if (file.endsWith('.json') && basename(file) !== `${name}.json`)
    output.printNote(`The platform reads this table only from a file with the name ${name}.json.`);
}

async function list({ output }: CommandContext): Promise<void> {
  const tables = hostTableNames.map((name) => ({
    name,
    hosts: findHostTable(name)?.description ?? '',
  }));
  output.printResult(tables, () => output.formatTable(['name', 'hosts'], tables));
}

type ExplainOptions = {
  readonly hex?: string;
  readonly frame: boolean;
  readonly unmask?: ReadonlySet<number>;
};

const hexPattern = /^(?:[0-9a-f]{2})+$/i;
const cardFields: readonly number[] = [2, 34, 35, 36, 45, 52];

function parseBytes(text: string): Buffer {
  const digits = text.replaceAll(/\s/g, '');
  if (!hexPattern.test(digits))
    fail('usage', '--hex must be an even number of hexadecimal digits.');
  return Buffer.from(digits, 'hex');
}

function parseFields(text: string): ReadonlySet<number> {
  const fields = text.split(',').map((each) => Number(each.trim()));
  const wrong = fields.find((field) => !Number.isInteger(field) || field < 2 || field > 192);
  if (wrong !== undefined) throw new InvalidArgumentError('Enter field numbers such as 48,60.');
  const secret = fields.find((field) => cardFields.includes(field));
  if (secret !== undefined)
    throw new InvalidArgumentError(`Field ${secret} contains card data and is never printed.`);
  return new Set(fields);
}

async function explain(
  { output }: CommandContext,
  [file = '', message]: string[],
  { hex, frame, unmask = new Set() }: ExplainOptions,
): Promise<void> {
  if (hex !== undefined && message !== undefined)
    fail('usage', 'Use the name of a message or --hex, and not both.');
  const table = readTableFile(file);
  const names = sampleNames(table);
  if (message !== undefined && !names.includes(message))
    fail('usage', `There is no message ${message}; the messages are ${names.join(', ')}.`);
  let messages: readonly ExplainedMessage[];
  try {
    messages =
      hex === undefined
        ? (message === undefined ? names : [message]).map((name) => explainSample(table, name))
        : explainRecorded(table, parseBytes(hex), { isFramed: frame, unmasked: unmask });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const advice =
      hex === undefined
        ? 'Check the table with switchyard dialect check.'
        : 'Compare the framing of the table with the bytes, or use --no-frame.';
    return fail('usage', `${file} does not allow this message: ${error.message}.`, advice);
  }
  output.printResult({ name: table.name, messages }, () =>
    messages.map(formatExplanation).join('\n'),
  );
}

type ImportOptions = {
  readonly packager: string;
  readonly channel: string;
  readonly base: string;
  readonly name?: string;
  readonly out?: string;
};

function parseChannel(text: string): string {
  const name = findChannelName(text);
  if (name !== undefined) return name;
  throw new InvalidArgumentError(`The channels are ${channelNames.join(', ')}.`);
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** `Nord_Bank.xml` becomes `nord-bank`. */
function tableName(file: string, name: string | undefined): string {
  const made =
    name ??
    basename(file, extname(file))
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-');
  if (namePattern.test(made)) return made;
  return fail(
    'usage',
    `${made} is not a valid table name; use --name with small letters, digits and hyphens.`,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

/** The mistakes that remain in the table, in members that the packager does not describe. */
function mistakesOf(table: unknown): readonly string[] {
  try {
    readHostTable(table);
    return [];
  } catch (error) {
    if (!(error instanceof HostTableError)) throw error;
    return error.mistakes.map(({ pointer, problem }) => `${pointer} ${problem}`);
  }
}

function reportLines({ report }: ImportedTable, mistakes: readonly string[]): string[] {
  const { takenFields, openItems } = report;
  const open = openItems.map(({ line, subject, reason }) => {
    return `${line === undefined ? '' : `line ${line}: `}${subject}: ${reason}`;
  });
  return [
    `Fields taken over: ${takenFields}.`,
    ...(open.length === 0 ? [] : ['Not taken over:', ...open.map((line) => `  ${line}`)]),
    ...(mistakes.length === 0
      ? []
      : ['To be corrected in the table:', ...mistakes.map((line) => `  ${line}`)]),
  ];
}

async function importPackager(
  { output }: CommandContext,
  _args: string[],
  { packager: file, channel, base, name, out }: ImportOptions,
): Promise<ExitName> {
  const tableOptions = { name: tableName(file, name), base, channel };
  if (out !== undefined && existsSync(out))
    fail('usage', `${out} exists. Use another name, or remove the file.`);
  const imported = convertPackager(readPackager(file, readText(file)), tableOptions);
  const { table, report } = imported;
  const mistakes = mistakesOf(table);
  const text = `${JSON.stringify(table, undefined, 2)}\n`;
  if (out !== undefined) writeFileSync(out, text);
  output.printResult({ table, ...report, mistakes }, () =>
    out === undefined ? text : `${out} contains the host table ${tableOptions.name}.\n`,
  );
  for (const line of reportLines(imported, mistakes)) output.printNote(line);
  return report.openItems.length + mistakes.length === 0 ? 'done' : 'partlyDone';
}

export const dialectCommands: CommandGroup = {
  group: 'dialect',
  summary: 'tables of acquirer hosts',
  description: 'Checks, explains and imports tables of acquirer hosts. Needs no server.',
  commands: [
    {
      command: 'list',
      summary: 'list the host tables of the platform',
      description:
        'Lists the host tables of the platform, each with the style of hosts that it is for. A link can use them, and each can be the base of a table.',
      examples: ['switchyard dialect list'],
      run: list,
    },
    {
      command: 'check <table>',
      summary: 'check a host table',
      description:
        'Checks a host table and reports all its mistakes, each with its line, its JSON pointer and what to do.',
      arguments: { table: 'a file with a host table, or the name of a built-in one' },
      examples: ['switchyard dialect check dialects/nord-bank.json'],
      run: check,
    },
    {
      command: 'explain <table> [message]',
      summary: 'print messages with every byte explained',
      description:
        'Prints sample messages as a host table writes them, or recorded ones: each element with its offset, its bytes, ' +
        'its field, its value and the meaning of the value.',
      arguments: {
        table: 'a file with a host table, or the name of a built-in one',
        message: 'the sample message, such as sale or reversal; without it, all of them',
      },
      options: [
        option('--hex <digits>', 'recorded messages in hexadecimal digits, with length and header'),
        option('--no-frame', 'the recorded bytes begin with the message type, without a length'),
        option('--unmask <fields>', 'print these fields of recorded messages, such as 48,60', {
          parse: parseFields,
        }),
      ],
      help: 'Fields of recorded messages that may contain card data are masked.',
      examples: [
        'switchyard dialect explain iso1987-binary sale',
        'switchyard dialect explain dialects/nord-bank.json --hex 003B30383030…',
      ],
      run: (context, args, options) => explain(context, args, options as ExplainOptions),
    },
    {
      command: 'import',
      summary: 'make a host table from a jPOS packager',
      description:
        'Makes a host table from the GenericPackager file and the channel of jPOS. The table has the message flow of the ' +
        'base: correct it by hand. The command lists what it could not take over, and exits with 9 then.',
      options: [
        option('--packager <file>', 'the XML file of the packager', { required: true }),
        option('--channel <name>', `the channel: ${channelNames.join(', ')}`, {
          required: true,
          parse: parseChannel,
        }),
        option('--base <table>', 'the built-in table with the most similar message flow', {
          choices: hostTableNames,
          default: 'iso1987-binary',
        }),
        option('--name <name>', 'the name of the table; by default that of the packager file'),
        option('--out <file>', 'write the table to this file'),
      ],
      examples: [
        'switchyard dialect import --packager nord-bank.xml --channel NAC --base iso1987-binary --out nord-bank.json',
      ],
      run: (context, args, options) => importPackager(context, args, options as ImportOptions),
    },
  ],
};

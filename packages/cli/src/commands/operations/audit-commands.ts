/** The audit: looked through, exported, and verified without trusting the platform. */

import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import {
  type AuditCheckpoint,
  type AuditKey,
  type AuditRecord,
  type ChainReport,
  defined,
  verifyChain,
} from '@switchyard/contract';
import { type Command, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, showList } from '../../command-line/list-output.ts';
import { membersOf } from '../../http/problem-details.ts';
import { CommandFault, fail, reasonOf } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readNamed } from '../../session/private-files.ts';

type Span = { readonly from?: string; readonly to?: string };
type FindOptions = ListOptions &
  Span & {
    readonly actor?: string;
    readonly action?: string;
    readonly entityType?: string;
    readonly entityId?: string;
    readonly requestId?: string;
    readonly oldestFirst?: boolean;
  };
type ExportOptions = Span & {
  readonly out?: string;
  readonly after?: string;
  readonly continue?: boolean;
};
type VerifyOptions = {
  readonly file?: string;
  readonly checkpoints?: string;
  readonly keys?: string;
  readonly after?: string;
  readonly previousHash?: string;
  readonly last?: string;
};

const path = '/audit/v1';
const retriesMax = 5;

function parseLine(line: string, where: string): AuditRecord {
  try {
    return JSON.parse(line) as AuditRecord;
  } catch {
    return fail('refused', `${where} is no JSON: ${line.slice(0, 60)}`);
  }
}

/** Whole lines; a half one at the end, of a file that was cut off, is told as what it is. */
async function* linesOf(stream: Readable): AsyncGenerator<string> {
  for await (const line of createInterface({
    input: stream,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() !== '') yield line;
  }
}

/**
 * The records of the server in the order of the chain. A download that breaks goes on behind the last
 * whole line.
 */
async function* serverRecords(
  kit: Kit,
  query: Span & { after?: string | undefined },
): AsyncGenerator<AuditRecord> {
  let after = query.after;
  for (let broken = 0; ; ) {
    let isMoving = false;
    try {
      const { stream } = await kit.api().open(`${path}/export`, { query: { ...query, after } });
      for await (const line of linesOf(stream)) {
        const record = parseLine(line, 'A line of the export');
        isMoving = true;
        after = String(record.sequence);
        yield record;
      }
      if (stream.complete) return;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      const isBroken = ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
      if (!isBroken && !(error instanceof CommandFault && error.exit === 'refused' && isMoving))
        throw error;
    }
    broken = isMoving ? 0 : broken + 1;
    if (broken > retriesMax) fail('unreachable', 'The export broke off again and again.');
    kit.screen.note('The export broke off; going on behind the last whole record.');
  }
}

/** The sequence of the last whole record of a file; what lies behind it is cut off by who goes on. */
async function lastOf(file: string): Promise<{ sequence: number; bytes: number }> {
  let bytes = 0;
  let sequence = 0;
  const text = createReadStream(file);
  let rest = Buffer.alloc(0);
  for await (const part of text as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, part]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      sequence = parseLine(rest.subarray(0, end).toString('utf8'), file).sequence;
      bytes += end + 1;
      rest = rest.subarray(end + 1);
    }
  }
  return { sequence, bytes };
}

async function exportAudit(kit: Kit, options: ExportOptions): Promise<undefined> {
  const { out, from, to } = options;
  const goesOn = options.continue === true && out !== undefined && existsSync(out);
  const last = goesOn ? await lastOf(out) : undefined;
  const after = last === undefined ? options.after : String(last.sequence);
  const file =
    out === undefined
      ? undefined
      : createWriteStream(
          out,
          last === undefined ? { mode: 0o600 } : { flags: 'r+', start: last.bytes },
        );
  if (file !== undefined)
    await once(file, 'open').catch((error: Error) => fail('usage', `${out}: ${error.message}`));
  const progress = kit.screen.progress('Audit records');
  let count = 0;
  const span = defined({ from, to });
  for await (const record of serverRecords(kit, { ...span, after })) {
    count += 1;
    progress.step(count);
    if (file === undefined) await kit.screen.line(record);
    else if (!file.write(`${JSON.stringify(record)}\n`)) await once(file, 'drain');
  }
  progress.end();
  if (file === undefined) return undefined;
  file.end();
  await once(file, 'finish');
  kit.screen.result({ file: out, records: count }, () => `${count} records in ${out}\n`);
  return undefined;
}

async function* fileRecords(file: string): AsyncGenerator<AuditRecord> {
  const stream = createReadStream(file);
  try {
    for await (const line of linesOf(stream)) yield parseLine(line, file);
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    fail('usage', `${file} cannot be read: ${reasonOf(error)}.`);
  }
}

function itemsOf(file: string, member: string): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(readNamed(file));
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    return fail('usage', `${file} is no JSON.`);
  }
  const items = Array.isArray(value) ? value : membersOf(value)[member];
  return Array.isArray(items) ? items : fail('usage', `${file} has no ${member}.`);
}

async function checkpointsOf(kit: Kit, file: string | undefined): Promise<AuditCheckpoint[]> {
  if (file !== undefined) return itemsOf(file, 'items') as AuditCheckpoint[];
  const found: AuditCheckpoint[] = [];
  for await (const checkpoint of kit.api().list<AuditCheckpoint>(`${path}/checkpoints`))
    found.push(checkpoint);
  return found;
}

async function keysOf(kit: Kit, file: string | undefined): Promise<AuditKey[]> {
  if (file !== undefined) return itemsOf(file, 'keys') as AuditKey[];
  return (await kit.api().call<{ keys: AuditKey[] }>('GET', `${path}/keys`)).body.keys;
}

function sequenceOf(text: string, option: string): number {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : fail('usage', `${option} is a whole number.`);
}

async function verifyAudit(kit: Kit, options: VerifyOptions): Promise<ExitName | undefined> {
  const { file, after, previousHash, last } = options;
  const checkpoints = await checkpointsOf(kit, options.checkpoints);
  const keys = await keysOf(kit, options.keys);
  const behind = after === undefined ? 0 : sequenceOf(after, '--after');
  const records = file === undefined ? serverRecords(kit, defined({ after })) : fileRecords(file);
  const progress = kit.screen.progress('Verified records');
  async function* counted() {
    let count = 0;
    for await (const record of records) {
      count += 1;
      progress.step(count);
      yield record;
    }
  }
  // Signed later than the download began: what it covers may not be part of it.
  const fitting = checkpoints.filter(({ sequence }) => sequence > behind);
  const report = await verifyChain(counted(), fitting, keys, {
    firstSequence: behind + 1,
    ...defined({
      previousHash,
      lastSequence: last === undefined ? undefined : sequenceOf(last, '--last'),
    }),
  });
  progress.end();
  return tellReport(kit, report);
}

function tellReport({ screen }: Kit, report: ChainReport): ExitName | undefined {
  const { records, firstSequence, lastSequence, lastHash, checkpoints, unsignedRecords } = report;
  const span = firstSequence === undefined ? 'none' : `${firstSequence} to ${lastSequence}`;
  if (report.ok) {
    screen.result(
      report,
      () =>
        `The chain is whole.\n${screen.members({ records: `${records} (${span})`, checkpoints, unsignedRecords, lastHash })}`,
    );
    return undefined;
  }
  if (screen.json) screen.document(report);
  const lines = report.faults.map(
    ({ sequence, code, detail }) => `sequence ${sequence}: ${code}, ${detail}`,
  );
  const [first] = report.faults;
  throw new CommandFault(
    'refused',
    `The chain is broken at sequence ${first?.sequence}: ${first?.code}.`,
    {
      more:
        report.faultCount > lines.length
          ? [...lines, `… and ${report.faultCount - lines.length} more`]
          : lines,
      facts: { code: first?.code, sequence: first?.sequence },
    },
  );
}

function addList(audit: Command, { act }: Runner): void {
  listOptions(audit.command('list'))
    .description('Lists changes, the newest first.')
    .option('--from <time>', 'of this time and later')
    .option('--to <time>', 'before this time')
    .option('--actor <sub>', 'by whom')
    .option('--action <action>', 'such as merchant.updated')
    .option('--entity-type <type>', 'such as merchant')
    .option('--entity-id <id>', 'of this one thing')
    .option('--request-id <id>', 'by this request')
    .option('--oldest-first', 'from the other end')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard audit list --action merchant.updated --from 2026-03-01T00:00:00Z',
    )
    .action(
      act<FindOptions>(async (kit, _args, { limit, all, oldestFirst, ...filters }) => {
        const query = { ...filters, order: oldestFirst ? 'OldestFirst' : undefined };
        await showList(kit, `${path}/records`, query, { limit, ...(all ? { all } : {}) }, [
          column('sequence', 'SEQUENCE', true),
          column('at', 'AT', true),
          column('action'),
          { title: 'ENTITY', of: (row) => membersOf(row['entity'])['id'] },
          { title: 'BY', of: (row) => membersOf(row['actor'])['clientId'] },
        ]);
        return undefined;
      }),
    );
}

export function addAuditCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const audit = program
    .command('audit')
    .summary('who changed what')
    .description('Who changed what, and whether the record of it is whole.');
  addList(audit, runner);
  audit
    .command('export')
    .description('All records as JSON Lines, in the order of their chain.')
    .option('-o, --out <file>', 'the file; left out: stdout')
    .option('--continue', 'goes on where the file ends')
    .option('--after <sequence>', 'behind this record')
    .option('--from <time>', 'of this time and later')
    .option('--to <time>', 'before this time')
    .addHelpText('after', '\nExample:\n  $ switchyard audit export --out audit.jsonl --continue')
    .action(act<ExportOptions>((kit, _args, options) => exportAudit(kit, options)));
  audit
    .command('verify')
    .description(
      'Checks hashes, links, order and signatures of the chain. A broken chain ends with 6 and names the sequence.',
    )
    .option('--file <file>', 'an export, in place of the server')
    .option('--checkpoints <file>', 'checkpoints that were kept elsewhere')
    .option('--keys <file>', 'keys that were kept elsewhere')
    .addOption(new Option('--after <sequence>', 'only what comes behind this record'))
    .option('--previous-hash <hash>', 'the hash of that record, as it was noted')
    .option('--last <sequence>', 'the last record that must be there')
    .addHelpText(
      'after',
      `
Examples:
  $ switchyard audit verify
  $ switchyard audit verify --file audit.jsonl --checkpoints checkpoints.json --keys keys.json`,
    )
    .action(act<VerifyOptions>((kit, _args, options) => verifyAudit(kit, options)));
}

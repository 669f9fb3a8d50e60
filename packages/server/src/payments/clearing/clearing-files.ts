// Creates, lists and downloads clearing files, reads their acknowledgements, and reports their state as gauges.
import { hash } from 'node:crypto';
import {
  type ClearingFile,
  type ClearingFileLine,
  type ClearingFileRequest,
  defined,
  errorCodes,
  ProblemError,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import {
  AcknowledgementFormatError,
  type ClearingAcknowledgement,
  type ClearingLine,
  referenceClearingFormat,
} from '../../acquiring/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  createPoller,
  isoTime,
  type Jobs,
  type Log,
  type Numbering,
  type Poller,
} from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import {
  elapsedSeconds,
  type LinkGaugePorts,
  registerLinkGauges,
} from '../runtime/link-backlog.ts';
import { applyAcknowledgementJob } from './apply-acknowledgement.ts';
import type {
  ClearingFileRow,
  ClearingLineRow,
  ClearingStore,
  LinkBacklogSample,
} from './clearing-sql.ts';

type CreatePorts = {
  clearing: Pick<ClearingStore, 'createFile' | 'findLinksWithDueLines'>;
  numbering: Pick<Numbering, 'isAvailable' | 'requireAvailable'>;
  provisioning: Pick<Provisioning, 'findInstitutionId'>;
  clock: Clock;
  ids: { uuid(): string };
  log: Pick<Log, 'warn' | 'error'>;
};
type Ports = CreatePorts & { clearing: ClearingStore; jobs: Pick<Jobs, 'wake'> };

const pageSize = 1000;
const maxLinksPerRun = 100;
const dueFilesIntervalMs = 10_000;

function viewFile(row: ClearingFileRow): ClearingFile {
  return {
    clearingFileId: row.fileId,
    acquirerLink: row.linkId,
    sequence: row.sequence,
    fileName: referenceClearingFormat.fileName(row),
    state: row.state,
    lines: row.lineCount,
    amounts: Object.entries(row.amounts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, amount]) => ({ currency, amount })),
    ...(row.state === 'Made' ? {} : { accepted: row.accepted, rejected: row.rejected }),
    createdAt: row.createdAt.toISOString(),
    ...defined({
      reason: row.reason ?? undefined,
      acknowledgedAt: row.acknowledgedAt?.toISOString(),
    }),
  };
}

const viewLine = ({ content: _, code, ...line }: ClearingLineRow): ClearingFileLine => ({
  ...line,
  ...defined({ code: code ?? undefined }),
});

/** A file holds captures of all merchants of a link. */
function requireOrganizationCaller({ organizationId, merchantId, entityType }: Caller): string {
  if (merchantId !== undefined || entityType === 'merchant') {
    throwProblem(
      'permission_denied',
      'Only a token of the organisation can read clearing files; your token belongs to a merchant.',
    );
  }
  return organizationId;
}

function throwAcknowledgementProblem(detail: string): never {
  return throwFieldProblem('acknowledgement_invalid', '/acknowledgement', detail);
}

function readAcknowledgement(text: string): ClearingAcknowledgement {
  try {
    return referenceClearingFormat.readAcknowledgement(text);
  } catch (error) {
    if (!(error instanceof AcknowledgementFormatError)) throw error;
    return throwAcknowledgementProblem(error.message);
  }
}

/** An acknowledgement belongs to this file and accounts for each of its lines. */
function checkAcknowledgement(
  { fileId, sequence, rejectionReason, accepted, rejections }: ClearingAcknowledgement,
  file: ClearingFileRow,
): void {
  if (fileId !== file.fileId || sequence !== file.sequence)
    throwAcknowledgementProblem('The acknowledgement belongs to another clearing file.');
  if (rejectionReason !== undefined) return;
  const unknownLine = rejections.find(({ line }) => line < 1 || line > file.lineCount);
  if (unknownLine !== undefined)
    throwAcknowledgementProblem(`The file has no line ${unknownLine.line}.`);
  if (accepted + rejections.length !== file.lineCount)
    throwAcknowledgementProblem(`The file has ${file.lineCount} lines.`);
}

/** @returns the identifier of the file; undefined if no line is due */
async function createFile(
  { clearing, provisioning, clock, ids, numbering }: CreatePorts,
  organizationId: string,
  linkId: string,
  includeOpenDays: boolean,
): Promise<string | undefined> {
  numbering.requireAvailable();
  const institutionId = await provisioning.findInstitutionId(organizationId, linkId);
  if (institutionId === undefined) {
    throwProblem('resource_not_found', 'No acquirer link with this identifier exists.');
  }
  const fileId = ids.uuid();
  const at = isoTime(clock.now());
  const until = includeOpenDays ? null : at;
  const file = { organizationId, linkId, fileId, until, institutionId, at };
  return (await clearing.createFile(file)) ? fileId : undefined;
}

/** Creates files for all links with captures of ended settlement days. Returns their number. */
export async function createDueFiles(ports: CreatePorts): Promise<number> {
  if (!ports.numbering.isAvailable()) return 0;
  const now = isoTime(ports.clock.now());
  const links = await ports.clearing.findLinksWithDueLines(now, maxLinksPerRun);
  // A link that fails does not block the others.
  const fileIds = await Promise.all(
    links.map(({ organizationId, linkId }) =>
      createFile(ports, organizationId, linkId, false).catch((error: unknown) => {
        // Errors that are not transient need an operator.
        const isTransient = error instanceof ProblemError && errorCodes[error.code].retryable;
        const level = isTransient ? 'warn' : 'error';
        ports.log[level]({ err: error, linkId }, 'creation of a clearing file failed');
      }),
    ),
  );
  return fileIds.filter((fileId) => typeof fileId === 'string').length;
}

export const createClearingTask = (ports: CreatePorts): Poller =>
  createPoller({
    pollMs: dueFilesIntervalMs,
    async poll() {
      await createDueFiles(ports);
      return false;
    },
    onError: (error) => ports.log.warn({ err: error }, 'creation of due clearing files failed'),
  });

export function createClearingFiles(ports: Ports) {
  const { clearing } = ports;

  async function findFile(caller: Caller, fileId: string): Promise<ClearingFileRow> {
    const key = { organizationId: requireOrganizationCaller(caller), fileId: fileId.toLowerCase() };
    const row = await clearing.find(key);
    return (
      row ?? throwProblem('resource_not_found', 'No clearing file with this identifier exists.')
    );
  }

  async function* readLines(organizationId: string, fileId: string): AsyncIterable<ClearingLine[]> {
    for (let after = 0; ; ) {
      const rows = await clearing.listLines({ organizationId, fileId, after, limit: pageSize });
      yield rows.map(({ content }) => content);
      if (rows.length < pageSize) return;
      after = rows.at(-1)?.line ?? after;
    }
  }

  return {
    /** @throws ProblemError nothing_to_clear, resource_not_found, permission_denied */
    async create(caller: Caller, request: ClearingFileRequest): Promise<ClearingFile> {
      const organizationId = requireOrganizationCaller(caller);
      const linkId = request.acquirerLink.toLowerCase();
      const fileId = await createFile(ports, organizationId, linkId, request.openDays ?? false);
      if (fileId === undefined) {
        const detail = 'No capture of this acquirer link waits for a clearing file.';
        return throwProblem('nothing_to_clear', detail);
      }
      return viewFile(await findFile(caller, fileId));
    },

    async list(
      caller: Caller,
      filter: { acquirerLink?: string; state?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFile>> {
      const organizationId = requireOrganizationCaller(caller);
      const rows = await clearing.list(organizationId, filter, { after, limit: limit + 1 });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.fileId : undefined;
      return { items: items.map(viewFile), next };
    },

    async get(caller: Caller, fileId: string): Promise<ClearingFile> {
      return viewFile(await findFile(caller, fileId));
    },

    /** The same bytes each time. @throws ProblemError resource_not_found for a rejected file */
    async content(caller: Caller, fileId: string) {
      const file = await findFile(caller, fileId);
      if (file.state === 'Rejected') {
        const detail = 'The acquirer rejected this file. Its lines are in a later file.';
        throwProblem('resource_not_found', detail);
      }
      const lines = readLines(caller.organizationId, file.fileId);
      const text = referenceClearingFormat.writeFile(file, lines);
      return { name: referenceClearingFormat.fileName(file), text };
    },

    async lines(
      caller: Caller,
      fileId: string,
      { status }: { status?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFileLine>> {
      const { organizationId } = caller;
      const file = await findFile(caller, fileId);
      const page = { after: Number(after ?? 0), limit: limit + 1 };
      const rows = await clearing.listLines({ organizationId, ...file, ...page, status });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? String(items.at(-1)?.line) : undefined;
      return { items: items.map(viewLine), next };
    },

    /** @throws ProblemError acknowledgement_invalid, clearing_file_acknowledged, resource_not_found */
    async acknowledge(caller: Caller, id: string, text: string): Promise<ClearingFile> {
      const file = await findFile(caller, id);
      const acknowledgement = readAcknowledgement(text);
      checkAcknowledgement(acknowledgement, file);
      const key = { organizationId: caller.organizationId, fileId: file.fileId };
      // An acknowledgement that numbers the lines differently would reject the wrong captures.
      const mismatch = await clearing.findReferenceMismatch(key, acknowledgement.rejections);
      if (mismatch !== undefined)
        throwAcknowledgementProblem(`Line ${mismatch} has another reference.`);
      const documentDigest = hash('sha256', text);
      const job = { jobId: ports.ids.uuid(), kind: applyAcknowledgementJob };
      const at = isoTime(ports.clock.now());
      const record = { ...acknowledgement, ...key, documentDigest, at, job };
      const isStored = await clearing.storeAcknowledgement(record);
      const current = await findFile(caller, file.fileId);
      if (!isStored && current.acknowledgementDigest !== documentDigest) {
        throwProblem(
          'clearing_file_acknowledged',
          'The file already has a different acknowledgement.',
        );
      }
      if (isStored && acknowledgement.rejectionReason === undefined) ports.jobs.wake();
      return viewFile(current);
    },
  };
}

export type ClearingFiles = ReturnType<typeof createClearingFiles>;

export function registerClearingGauges(ports: LinkGaugePorts & { clearing: ClearingStore }): void {
  const { clearing, clock } = ports;
  const gaugeOf = (help: string, value: (sample: LinkBacklogSample) => number) => ({ help, value });
  const count = (sample: LinkBacklogSample) => sample.count;
  const age = ({ oldestAt }: LinkBacklogSample) =>
    elapsedSeconds(oldestAt.toISOString(), clock.now());
  const fileGauges = {
    unacknowledged: gaugeOf('Clearing files of an acquirer link without an acknowledgement', count),
    oldest_seconds: gaugeOf(
      'Age of the oldest unacknowledged clearing file of an acquirer link, in seconds',
      age,
    ),
  };
  const lineGauges = {
    due: gaugeOf('Captures of past settlement days that are in no clearing file', count),
    oldest_seconds: gaugeOf(
      'Seconds since the end of the settlement day of the oldest such capture',
      age,
    ),
  };
  registerLinkGauges(ports, 'clearing_files', fileGauges, clearing.countOpenFiles);
  registerLinkGauges(ports, 'clearing_lines', lineGauges, () =>
    clearing.countDueLines(isoTime(clock.now())),
  );
}

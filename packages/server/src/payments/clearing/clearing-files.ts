// Creates, reads and acknowledges clearing files. A job applies the acknowledgement.
import { createHash } from 'node:crypto';
import {
  type ClearingFile,
  type ClearingFileLine,
  type ClearingFileRequest,
  defined,
  errorCodes,
  Refusal,
  refuse,
} from '@switchyard/contract';
import {
  AcknowledgementFormatError,
  type ClearingAcknowledgement,
  type ClearingLine,
  referenceClearingFormat,
} from '../../acquiring/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import { isoTime, type Metrics } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { elapsedSeconds, type Gauges, registerLinkGauges } from '../runtime/link-gauges.ts';
import { createPeriodicTask, type PeriodicTask } from '../runtime/periodic-task.ts';
import { applyAcknowledgementJob } from './apply-acknowledgement.ts';
import type {
  ClearingFileRow,
  ClearingLineRow,
  ClearingStore,
  LinkBacklogSample,
} from './clearing-sql.ts';

export type FilesDeps = Pick<PaymentsDeps, 'clock' | 'ids' | 'jobs' | 'log' | 'provisioning'> & {
  clearing: ClearingStore;
};

/** Lines of a file: what is due beyond goes into the next one. */
const maxLinesPerFile = 50_000;
const pageSize = 1000;
const maxLinksPerRun = 100;
const intervalMs = 10_000;

const fileHeader = ({ fileId, linkId, institutionId, sequence, createdAt }: ClearingFileRow) => ({
  fileId,
  linkId,
  institutionId,
  sequence,
  createdAt,
});

function viewFile(row: ClearingFileRow): ClearingFile {
  return {
    clearingFileId: row.fileId,
    acquirerLink: row.linkId,
    sequence: row.sequence,
    fileName: referenceClearingFormat.fileName(fileHeader(row)),
    state: row.state,
    lines: row.lineCount,
    amounts: Object.entries(row.amounts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, amount]) => ({ currency, amount })),
    ...(row.state === 'Made' ? {} : { accepted: row.accepted, rejected: row.rejected }),
    ...defined({ reason: row.reason }),
    createdAt: row.createdAt,
    ...defined({ acknowledgedAt: row.acknowledgedAt }),
  };
}

function viewLine(row: ClearingLineRow): ClearingFileLine {
  const {
    line,
    transactionId,
    operationNumber: number,
    settlementDate,
    amount,
    currency,
    status,
    code,
  } = row;
  return {
    line,
    transactionId,
    operationNumber: number,
    settlementDate,
    amount,
    currency,
    status,
    ...defined({ code }),
  };
}

/** Files hold the captures of all merchants of a link. */
function requireOrganizationCaller({ organizationId, merchantId, entityType }: Caller): string {
  if (merchantId !== undefined || entityType === 'merchant') {
    refuse('permission_denied', 'Clearing files are visible to organisation callers only.');
  }
  return organizationId;
}

function refuseAcknowledgement(detail: string): never {
  return refuse('acknowledgement_invalid', detail, {
    errors: [{ pointer: '/acknowledgement', code: 'acknowledgement_invalid', detail }],
  });
}

function readAcknowledgement(text: string): ClearingAcknowledgement {
  try {
    return referenceClearingFormat.readAcknowledgement(text);
  } catch (error) {
    if (!(error instanceof AcknowledgementFormatError)) throw error;
    return refuseAcknowledgement(`Line ${error.line}: ${error.message}`);
  }
}

/** It must be of this file, and account for each of its lines. */
function checkAcknowledgement(
  acknowledgement: ClearingAcknowledgement,
  file: ClearingFileRow,
): void {
  if (acknowledgement.fileId !== file.fileId || acknowledgement.sequence !== file.sequence) {
    refuseAcknowledgement('The acknowledgement belongs to another clearing file.');
  }
  if (acknowledgement.rejectionReason !== undefined) return;
  const unknownLine = acknowledgement.rejections.find(
    ({ line }) => line < 1 || line > file.lineCount,
  );
  if (unknownLine !== undefined) refuseAcknowledgement(`The file has no line ${unknownLine.line}.`);
  if (acknowledgement.accepted + acknowledgement.rejections.length !== file.lineCount) {
    refuseAcknowledgement(`The file has ${file.lineCount} lines.`);
  }
}

/** Other errors need an operator; the next run would fail in the same way. */
const isTransientError = (error: unknown): boolean =>
  error instanceof Refusal && errorCodes[error.code].retryable;

export type ClearingFiles = ReturnType<typeof createClearingFiles>;

/** @example const files = createClearingFiles({ clearing: createClearingStore(database), … }); */
export function createClearingFiles(deps: FilesDeps) {
  const { clearing } = deps;

  async function findFile(caller: Caller, fileId: string): Promise<ClearingFileRow> {
    const key = { organizationId: requireOrganizationCaller(caller), fileId: fileId.toLowerCase() };
    const row = await clearing.find(key);
    return row ?? refuse('resource_not_found', 'No clearing file with this identifier exists.');
  }

  async function makeFile(
    organizationId: string,
    linkId: string,
    includeOpenDays: boolean,
  ): Promise<string | undefined> {
    const institutionId = await deps.provisioning.institutionOf(organizationId, linkId);
    if (institutionId === undefined) {
      refuse('resource_not_found', 'No acquirer link with this identifier exists.');
    }
    const fileId = deps.ids.uuid();
    const at = isoTime(deps.clock.now());
    const isCreated = await clearing.createFile({
      organizationId,
      linkId,
      fileId,
      at,
      limit: maxLinesPerFile,
      until: includeOpenDays ? undefined : at,
      institutionId,
    });
    return isCreated ? fileId : undefined;
  }

  async function* readLines(organizationId: string, fileId: string): AsyncIterable<ClearingLine[]> {
    for (let after = 0; ; ) {
      const rows = await clearing.lines({ organizationId, fileId, after, limit: pageSize });
      yield rows.map(({ content }) => content);
      if (rows.length < pageSize) return;
      after = rows.at(-1)?.line ?? after;
    }
  }

  /** An acknowledgement that counts the lines otherwise than the file would let others fail. */
  async function requireSameReferences(
    organizationId: string,
    fileId: string,
    { rejections }: ClearingAcknowledgement,
  ): Promise<void> {
    if (rejections.length === 0) return;
    const line = await clearing.findReferenceMismatch({ organizationId, fileId, rejections });
    if (line !== undefined) refuseAcknowledgement(`Line ${line} has another reference.`);
  }

  return {
    /** @throws Refusal nothing_to_clear, resource_not_found, permission_denied */
    async make(caller: Caller, request: ClearingFileRequest): Promise<ClearingFile> {
      const organizationId = requireOrganizationCaller(caller);
      const linkId = request.acquirerLink.toLowerCase();
      const fileId = await makeFile(organizationId, linkId, request.openDays ?? false);
      if (fileId === undefined) {
        return refuse(
          'nothing_to_clear',
          'No capture of this acquirer link waits for a clearing file.',
        );
      }
      return viewFile(await findFile(caller, fileId));
    },
    async list(
      caller: Caller,
      { acquirerLink, state }: { acquirerLink?: string; state?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFile>> {
      const rows = await clearing.list({
        organizationId: requireOrganizationCaller(caller),
        linkId: acquirerLink?.toLowerCase(),
        state,
        after,
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.fileId : undefined;
      return { items: items.map(viewFile), next };
    },
    async get(caller: Caller, fileId: string): Promise<ClearingFile> {
      return viewFile(await findFile(caller, fileId));
    },
    /** The same bytes each time. @throws Refusal resource_not_found of what was taken apart again */
    async content(caller: Caller, fileId: string) {
      const file = await findFile(caller, fileId);
      if (file.state === 'Rejected') {
        refuse(
          'resource_not_found',
          'The acquirer rejected this file. Its lines are in a later file.',
        );
      }
      const header = fileHeader(file);
      const lines = readLines(requireOrganizationCaller(caller), file.fileId);
      return {
        name: referenceClearingFormat.fileName(header),
        text: referenceClearingFormat.writeFile(header, lines),
      };
    },
    async lines(
      caller: Caller,
      fileId: string,
      { status }: { status?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFileLine>> {
      const file = await findFile(caller, fileId);
      const rows = await clearing.lines({
        organizationId: requireOrganizationCaller(caller),
        fileId: file.fileId,
        after: Number(after ?? 0),
        limit: limit + 1,
        status,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? String(items.at(-1)?.line) : undefined;
      return { items: items.map(viewLine), next };
    },
    /** @throws Refusal acknowledgement_invalid, clearing_file_acknowledged, resource_not_found */
    async acknowledge(caller: Caller, fileId: string, text: string): Promise<ClearingFile> {
      const organizationId = requireOrganizationCaller(caller);
      const file = await findFile(caller, fileId);
      const acknowledgement = readAcknowledgement(text);
      checkAcknowledgement(acknowledgement, file);
      await requireSameReferences(organizationId, file.fileId, acknowledgement);
      const documentDigest = createHash('sha256').update(text).digest('hex');
      const key = {
        organizationId,
        fileId: file.fileId,
        documentDigest,
        at: isoTime(deps.clock.now()),
      };
      const job = { jobId: deps.ids.uuid(), kind: applyAcknowledgementJob };
      const { accepted, rejections, rejectionReason: refused } = acknowledgement;
      const isStored =
        refused === undefined
          ? await clearing.acknowledge({ ...key, accepted, rejections, job })
          : await clearing.rejectFile({ ...key, reason: refused });
      const current = await findFile(caller, file.fileId);
      if (!isStored && current.acknowledgement !== documentDigest) {
        refuse('clearing_file_acknowledged', 'The file already has a different acknowledgement.');
      }
      if (isStored && refused === undefined) deps.jobs.poke();
      return viewFile(current);
    },
    /** Files for all links with captures of days that have ended. */
    async makeDue(): Promise<number> {
      const due = await clearing.findLinksWithDueLines(isoTime(deps.clock.now()), maxLinksPerRun);
      // One that cannot be made holds up no other.
      const fileIds = await Promise.all(
        due.map(({ organizationId, linkId }) =>
          makeFile(organizationId, linkId, false).catch((error: unknown) => {
            const level = isTransientError(error) ? 'warn' : 'error';
            deps.log[level]({ err: error, linkId }, 'creation of a clearing file failed');
          }),
        ),
      );
      return fileIds.filter((fileId) => typeof fileId === 'string').length;
    },
  };
}

/** Looks from time to time whether a settlement day has ended somewhere. */
export const createClearingTask = (
  { makeDue }: ClearingFiles,
  { log }: Pick<FilesDeps, 'log'>,
): PeriodicTask =>
  createPeriodicTask({
    intervalMs: intervalMs,
    run: makeDue,
    onError: (error) => log.warn({ err: error }, 'creation of due clearing files failed'),
  });

/** Registers gauges of unacknowledged files and of due captures. */
export function registerClearingGauges({
  clearing,
  metrics,
  clock,
}: Pick<FilesDeps, 'clearing' | 'clock'> & { metrics: Metrics }): void {
  const fileGauges: Gauges<LinkBacklogSample> = {
    unacknowledged: {
      help: 'Clearing files of an acquirer link without an acknowledgement',
      value: ({ count }) => count,
    },
    oldest_seconds: {
      help: 'Age of the oldest unacknowledged clearing file of an acquirer link, in seconds',
      value: ({ oldestAt }) => elapsedSeconds(oldestAt, clock.now()),
    },
  };
  registerLinkGauges(metrics, 'clearing_files', fileGauges, clearing.countOpenFiles);
  const lineGauges: Gauges<LinkBacklogSample> = {
    due: {
      help: 'Captures of past settlement days that are in no clearing file',
      value: ({ count }) => count,
    },
    oldest_seconds: {
      help: 'Seconds since the end of the settlement day of the oldest such capture',
      value: ({ oldestAt }) => elapsedSeconds(oldestAt, clock.now()),
    },
  };
  const readDueLines = () => clearing.countDueLines(isoTime(clock.now()));
  registerLinkGauges(metrics, 'clearing_lines', lineGauges, readDueLines);
}

// Routes of clearing files.
import { Readable } from 'node:stream';
import {
  ClearingAcknowledgementInput,
  ClearingFile,
  ClearingFileLine,
  ClearingFileRequest,
  clearingFileStates,
  clearingLineStatuses,
  type ErrorCode,
  pageOf,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import type { ClearingFiles } from '../clearing/clearing-files.ts';
import { idParams, optionalId, queryOf, tags } from './transaction-route-parts.ts';

const base = '/payment/v1/clearing-files';
const params = idParams('clearingFileId');
const scopeErrors: ErrorCode[] = ['permission_denied', 'database_unavailable'];
const fileErrors: ErrorCode[] = [...scopeErrors, 'resource_not_found'];
const plainText = 'text/plain';
const readOptions = { method: 'GET', tags, permission: 'rep.read' } as const;
const exportOptions = { tags, permission: 'rep.export' } as const;
const acknowledgementLimitBytes = 4_194_304;
const lineNumberPattern = /^[0-9]{1,9}$/;

function registerReadRoutes(app: FastifyInstance, files: ClearingFiles): void {
  route(app, {
    ...readOptions,
    url: base,
    operationId: 'listClearingFiles',
    summary: 'List the clearing files',
    description: 'The newest first.',
    priority: 'list',
    query: queryOf({
      ...pageQuery,
      acquirerLink: optionalId(),
      state: Type.Optional(Type.Enum([...clearingFileStates])),
    }),
    response: { 200: pageOf(ClearingFile) },
    errors: [...scopeErrors, 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, 'listClearingFiles');
      return pageResponse(await files.list(caller, query, page), query, 'listClearingFiles');
    },
  });
  route(app, {
    ...readOptions,
    url: `${base}/:clearingFileId`,
    operationId: 'getClearingFile',
    summary: 'Get a clearing file',
    description: 'What it holds and what became of it; the file itself is its content.',
    params,
    response: { 200: ClearingFile },
    errors: fileErrors,
    handler: ({ caller, params: { clearingFileId } }) => files.get(caller, clearingFileId),
  });
  route(app, {
    ...readOptions,
    url: `${base}/:clearingFileId/lines`,
    operationId: 'listClearingFileLines',
    summary: 'List the lines of a clearing file',
    priority: 'list',
    params,
    query: queryOf({
      ...pageQuery,
      status: Type.Optional(Type.Enum([...clearingLineStatuses])),
    }),
    response: { 200: pageOf(ClearingFileLine) },
    errors: [...fileErrors, 'cursor_invalid'],
    async handler({ caller, query, params: { clearingFileId } }) {
      const filters = { ...query, clearingFileId };
      const page = readPageRequest(filters, 'listClearingFileLines', lineNumberPattern);
      const linePage = await files.lines(caller, clearingFileId, query, page);
      return pageResponse(linePage, filters, 'listClearingFileLines');
    },
  });
  route(app, {
    ...exportOptions,
    method: 'GET',
    url: `${base}/:clearingFileId/content`,
    operationId: 'getClearingFileContent',
    summary: 'Get the content of a clearing file',
    description: 'As it goes to the acquirer: the same bytes however often it is fetched.',
    priority: 'report',
    params,
    produces: [plainText],
    response: { 200: Type.String() },
    responseHeaders: { 200: ['Content-Disposition'] },
    errors: fileErrors,
    async handler({ caller, params: { clearingFileId } }, reply) {
      const { name, text } = await files.content(caller, clearingFileId);
      reply.type(`${plainText}; charset=utf-8`).headers({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="${name}"`,
      });
      return reply.send(Readable.from(text));
    },
  });
}

export function registerClearingRoutes(app: FastifyInstance, files: ClearingFiles): void {
  registerReadRoutes(app, files);
  route(app, {
    ...exportOptions,
    method: 'POST',
    url: base,
    operationId: 'createClearingFile',
    summary: 'Create a clearing file',
    description:
      'Of the captures of a link whose settlement day has ended; the platform makes it by itself within seconds of that.',
    body: ClearingFileRequest,
    response: { 201: ClearingFile },
    errors: [...fileErrors, 'nothing_to_clear', 'recovery_required'],
    async handler({ caller, body }, reply) {
      const file = await files.create(caller, body);
      reply.code(201).header('location', `${base}/${file.clearingFileId}`);
      return file;
    },
  });
  app.addContentTypeParser(plainText, { parseAs: 'string' }, (_request, body, done) => {
    done(null, { acknowledgement: body });
  });
  route(app, {
    ...exportOptions,
    method: 'PUT',
    url: `${base}/:clearingFileId/acknowledgement`,
    operationId: 'acknowledgeClearingFile',
    summary: 'Acknowledge a clearing file',
    description:
      'Hands over what the acquirer says of it, as text/plain or within JSON: captures are settled, and those that it rejects have failed. The same acknowledgement again changes nothing.',
    params,
    consumes: [plainText],
    bodyLimitBytes: acknowledgementLimitBytes,
    body: ClearingAcknowledgementInput,
    response: { 200: ClearingFile },
    errors: [...fileErrors, 'acknowledgement_invalid', 'clearing_file_acknowledged'],
    handler: ({ caller, body, params: { clearingFileId } }) =>
      files.acknowledge(caller, clearingFileId, body.acknowledgement),
  });
}

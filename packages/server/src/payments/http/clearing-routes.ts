// The routes of clearing files.
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
import { openPage, pageQuery, route, sealPage } from '../../http/index.ts';
import type { ClearingFiles } from '../clearing/clearing-files.ts';

const base = '/payment/v1/clearing-files';
const tags = ['Card payments'];
const closed = { additionalProperties: false };
const params = Type.Object({ clearingFileId: Type.String({ format: 'uuid' }) });
const scoped: ErrorCode[] = ['permission_denied', 'database_unavailable'];
const ofFile: ErrorCode[] = [...scoped, 'resource_not_found'];
const plainText = 'text/plain';
const acknowledgementLimitBytes = 4_194_304;
const lineForm = /^[0-9]{1,9}$/;

function registerReads(app: FastifyInstance, files: ClearingFiles): void {
  route(app, {
    method: 'GET',
    url: base,
    operationId: 'listClearingFiles',
    summary: 'List clearing files',
    description: 'The newest first.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    query: Type.Object(
      {
        ...pageQuery,
        acquirerLink: Type.Optional(Type.String({ format: 'uuid' })),
        state: Type.Optional(Type.Enum([...clearingFileStates])),
      },
      closed,
    ),
    response: { 200: pageOf(ClearingFile) },
    errors: [...scoped, 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = openPage(query, 'listClearingFiles');
      return sealPage(await files.list(caller, query, page), query, 'listClearingFiles');
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/:clearingFileId`,
    operationId: 'getClearingFile',
    summary: 'Read a clearing file',
    description: 'What it holds and what became of it; the file itself is its content.',
    tags,
    permission: 'rep.read',
    params,
    response: { 200: ClearingFile },
    errors: ofFile,
    handler: ({ caller, params: { clearingFileId } }) => files.get(caller, clearingFileId),
  });
  route(app, {
    method: 'GET',
    url: `${base}/:clearingFileId/lines`,
    operationId: 'listClearingFileLines',
    summary: 'List the captures of a clearing file',
    tags,
    permission: 'rep.read',
    priority: 'list',
    params,
    query: Type.Object(
      { ...pageQuery, status: Type.Optional(Type.Enum([...clearingLineStatuses])) },
      closed,
    ),
    response: { 200: pageOf(ClearingFileLine) },
    errors: [...ofFile, 'cursor_invalid'],
    async handler({ caller, query, params: { clearingFileId } }) {
      const filters = { ...query, clearingFileId };
      const page = openPage(filters, 'listClearingFileLines', lineForm);
      const found = await files.lines(caller, clearingFileId, query, page);
      return sealPage(found, filters, 'listClearingFileLines');
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/:clearingFileId/content`,
    operationId: 'getClearingFileContent',
    summary: 'Fetch a clearing file',
    description: 'As it goes to the acquirer: the same bytes however often it is fetched.',
    tags,
    permission: 'rep.export',
    priority: 'report',
    params,
    produces: [plainText],
    response: { 200: Type.String() },
    answerHeaders: { 200: ['Content-Disposition'] },
    errors: ofFile,
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

export function registerClearing(app: FastifyInstance, files: ClearingFiles): void {
  registerReads(app, files);
  route(app, {
    method: 'POST',
    url: base,
    operationId: 'makeClearingFile',
    summary: 'Make a clearing file',
    description:
      'Of the captures of a link whose settlement day has ended; the platform makes it by itself within seconds of that.',
    tags,
    permission: 'rep.export',
    body: ClearingFileRequest,
    response: { 201: ClearingFile },
    errors: [...ofFile, 'nothing_to_clear'],
    async handler({ caller, body }, reply) {
      const made = await files.make(caller, body);
      reply.code(201).header('location', `${base}/${made.clearingFileId}`);
      return made;
    },
  });
  app.addContentTypeParser(plainText, { parseAs: 'string' }, (_request, body, done) => {
    done(null, { acknowledgement: body });
  });
  route(app, {
    method: 'PUT',
    url: `${base}/:clearingFileId/acknowledgement`,
    operationId: 'acknowledgeClearingFile',
    summary: 'Acknowledge a clearing file',
    description:
      'Hands over what the acquirer says of it, as text/plain or within JSON: captures are settled, and those that it rejects have failed. The same acknowledgement again changes nothing.',
    tags,
    permission: 'rep.export',
    params,
    consumes: [plainText],
    bodyLimitBytes: acknowledgementLimitBytes,
    body: ClearingAcknowledgementInput,
    response: { 200: ClearingFile },
    errors: [...ofFile, 'acknowledgement_invalid', 'clearing_file_acknowledged'],
    handler: ({ caller, body, params: { clearingFileId } }) =>
      files.acknowledge(caller, clearingFileId, body.acknowledgement),
  });
}

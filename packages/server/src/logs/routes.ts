// The addresses of the logs, version 1.
import { LoggedRequestPage, requestLogFilters } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { openPage, pageQuery, route, sealPage } from '../http/index.ts';
import { type Finder, sequenceForm } from './find.ts';

const operationId = 'listLoggedRequests';

export function registerLogRoutes(app: FastifyInstance, { finder }: { finder: Finder }): void {
  route(app, {
    method: 'GET',
    url: '/logs/v1/requests',
    operationId,
    summary: 'List: logged request',
    description:
      'What the applications of the organisation asked, the newest first: method, path, status and ' +
      'code, never a body, a query or a header. It is written behind the answers, so a line comes a ' +
      'moment after its request. How much is kept is a setting of the platform.',
    tags: ['Logs'],
    permission: ['app.read', 'hook.read'],
    query: Type.Object({ ...pageQuery, ...requestLogFilters }, { additionalProperties: false }),
    response: { 200: LoggedRequestPage },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const { limit: _limit, cursor: _cursor, ...search } = query;
      const page = openPage(query, operationId, sequenceForm);
      return sealPage(await finder.list(caller, search, page), query, operationId);
    },
  });
}

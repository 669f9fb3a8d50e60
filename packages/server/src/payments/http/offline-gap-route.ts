// Route: missing sequence numbers of offline sales.
import { OfflineGap, pageOf } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { openPage, pageQuery, route, sealPage } from '../../http/index.ts';
import { type ListGapsPorts, listGaps } from '../offline/missing-sequence-numbers.ts';
import { rateLimit, tags } from './transaction-route-parts.ts';

const idFilter = (description: string) =>
  Type.Optional(Type.String({ format: 'uuid', description }));

export function registerOfflineRoutes(app: FastifyInstance, ports: ListGapsPorts): void {
  route(app, {
    method: 'GET',
    url: '/payment/v1/offline-gaps',
    operationId: 'listOfflineGaps',
    summary: 'Offline sales that are missing',
    description:
      'Numbers that terminals have counted (offlineData.terminalSequence) and not uploaded, as they ' +
      'are missing now. A minute after a gap was found its upload has an event offline.gap_detected.',
    tags,
    rateLimit,
    permission: 'pay.read',
    priority: 'list',
    query: Type.Object(
      {
        ...pageQuery,
        merchantId: idFilter('Of one merchant.'),
        storeId: idFilter('Of one store.'),
        deviceId: idFilter('Of one logical device.'),
      },
      { additionalProperties: false },
    ),
    response: { 200: pageOf(OfflineGap) },
    errors: ['entity_out_of_scope', 'cursor_invalid', 'database_unavailable'],
    async handler({ caller, query }) {
      const gapPage = await listGaps(ports, caller, query, openPage(query, 'listOfflineGaps'));
      return sealPage(gapPage, query, 'listOfflineGaps');
    },
  });
}

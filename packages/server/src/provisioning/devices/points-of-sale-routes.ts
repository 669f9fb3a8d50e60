// HTTP routes for points of sale: the common ones, and the rotation of a secret.
import {
  NewPointOfSale,
  PointOfSale,
  PointOfSaleInput,
  PointOfSaleReplacement,
  pointOfSaleFilters,
  RenewedSecret,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { readIfMatch, route } from '../../http/index.ts';
import { toCallerScope } from '../resources/caller-scope.ts';
import { registerResourceRoutes, sendWithETag } from '../resources/resource-routes.ts';
import type { PointsOfSale } from './points-of-sale.ts';

const path = '/provisioning/v2/points-of-sale';

export function registerPointOfSaleRoutes(app: FastifyInstance, pointsOfSale: PointsOfSale): void {
  registerResourceRoutes(app, {
    path,
    idMember: 'pointOfSaleId',
    singular: 'PointOfSale',
    plural: 'PointsOfSale',
    notFoundCode: 'resource_not_found',
    input: PointOfSaleInput,
    replacement: PointOfSaleReplacement,
    view: PointOfSale,
    created: NewPointOfSale,
    filters: pointOfSaleFilters,
    resource: pointsOfSale,
    createErrors: ['store_not_found'],
  });
  route(app, {
    method: 'POST',
    url: `${path}/:pointOfSaleId/secret`,
    operationId: 'rotatePointOfSaleSecret',
    summary: 'Rotate the secret of a point of sale',
    description: 'The old secret stops working at once. Access tokens that were issued stay valid.',
    tags: ['Provisioning'],
    permission: 'prov.write',
    takesIdempotencyKey: true,
    params: Type.Object({ pointOfSaleId: Type.String({ maxLength: 64 }) }),
    response: { 200: RenewedSecret },
    responseHeaders: { 200: ['ETag'] },
    errors: ['resource_not_found', 'precondition_failed'],
    async handler(request, reply) {
      const scope = toCallerScope(request.caller, request.id);
      const { pointOfSaleId } = request.params;
      const ifMatch = readIfMatch(request.headers);
      const renewed = await pointsOfSale.rotateSecret(scope, pointOfSaleId, ifMatch);
      reply.header('cache-control', 'no-store');
      return sendWithETag(reply, renewed);
    },
  });
}

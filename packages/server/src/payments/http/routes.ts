// Every route of the card payments.
import type { FastifyInstance } from 'fastify';
import type { CaptureAllDeps } from '../batch-capture/batch-capture.ts';
import { registerBatches } from './batch-capture-routes.ts';
import { registerConfirm } from './confirm-route.ts';
import { registerOffline } from './offline-routes.ts';
import { registerByWeb, registerOperations, registerResolve } from './operation-routes.ts';
import { registerReads } from './read-routes.ts';
import { registerSale } from './sale-route.ts';

/** Registers every route of the room. */
export function registerPaymentRoutes(app: FastifyInstance, deps: CaptureAllDeps): void {
  registerSale(app, deps);
  registerOperations(app, deps);
  registerConfirm(app, deps);
  registerByWeb(app, deps);
  registerResolve(app, deps);
  registerReads(app, deps);
  registerBatches(app, deps);
  registerOffline(app, deps);
}

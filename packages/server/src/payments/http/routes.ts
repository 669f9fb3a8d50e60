// Every route of the card payments.
import type { FastifyInstance } from 'fastify';
import type { CaptureAllPorts } from '../batch-capture/batch-capture.ts';
import type { PaymentsDeps } from '../deps.ts';
import { registerBatchCaptureRoutes } from './batch-capture-routes.ts';
import { registerConfirmRoute } from './confirm-route.ts';
import { registerOfflineRoutes } from './offline-routes.ts';
import {
  registerOperationRoutes,
  registerRefundByWebRoutes,
  registerResolveRoute,
} from './operation-routes.ts';
import { registerReadRoutes } from './read-routes.ts';
import { registerSaleRoute } from './sale-route.ts';

/** Registers all routes of the payments module. */
export function registerPaymentRoutes(
  app: FastifyInstance,
  deps: PaymentsDeps & CaptureAllPorts,
): void {
  registerSaleRoute(app, deps);
  registerOperationRoutes(app, deps);
  registerConfirmRoute(app, deps);
  registerRefundByWebRoutes(app, deps);
  registerResolveRoute(app, deps);
  registerReadRoutes(app, deps);
  registerBatchCaptureRoutes(app, deps);
  registerOfflineRoutes(app, deps);
}

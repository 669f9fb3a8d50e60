// Every route of the card payments.
import type { FastifyInstance } from 'fastify';
import { registerBatchCaptureRoutes } from './batch-capture-routes.ts';
import { registerConfirmRoute } from './confirm-route.ts';
import { registerOfflineRoutes } from './offline-gap-route.ts';
import {
  registerOperationRoutes,
  registerRefundByWebRoutes,
  registerResolveRoute,
} from './operation-routes.ts';
import { registerSaleRoute } from './sale-route.ts';
import { registerReadRoutes } from './transaction-status-routes.ts';

type PortsOf<Register extends (app: FastifyInstance, ports: never) => void> =
  Parameters<Register>[1];

type Ports = PortsOf<typeof registerSaleRoute> &
  PortsOf<typeof registerOperationRoutes> &
  PortsOf<typeof registerConfirmRoute> &
  PortsOf<typeof registerRefundByWebRoutes> &
  PortsOf<typeof registerResolveRoute> &
  PortsOf<typeof registerReadRoutes> &
  PortsOf<typeof registerBatchCaptureRoutes> &
  PortsOf<typeof registerOfflineRoutes>;

/** Registers all routes of the payments module. */
export function registerPaymentRoutes(app: FastifyInstance, ports: Ports): void {
  registerSaleRoute(app, ports);
  registerOperationRoutes(app, ports);
  registerConfirmRoute(app, ports);
  registerRefundByWebRoutes(app, ports);
  registerResolveRoute(app, ports);
  registerReadRoutes(app, ports);
  registerBatchCaptureRoutes(app, ports);
  registerOfflineRoutes(app, ports);
}

// Routes of transactions.
import type { FastifyInstance } from 'fastify';
import type { CaptureAllPorts } from '../batch-capture/batch-capture.ts';
import type { ListGapsPorts } from '../offline/missing-sequence-numbers.ts';
import type { ConfirmPorts } from '../operations/confirm-sale.ts';
import type { ResolvePorts } from '../operations/resolve-manually.ts';
import type { ReadPorts } from '../runtime/find-transaction.ts';
import { registerBatchCaptureRoutes } from './batch-capture-routes.ts';
import {
  type RunPorts,
  registerConfirmRoute,
  registerOperationRoutes,
  registerWebOperationRoutes,
} from './operation-routes.ts';
import { registerSaleRoute, type SalePorts } from './sale-route.ts';
import {
  type AvailabilityPorts,
  registerOfflineRoutes,
  registerReadRoutes,
} from './status-routes.ts';

type Ports = SalePorts &
  RunPorts &
  ConfirmPorts &
  ResolvePorts &
  ReadPorts &
  AvailabilityPorts &
  CaptureAllPorts &
  ListGapsPorts;

export function registerPaymentRoutes(app: FastifyInstance, ports: Ports): void {
  registerSaleRoute(app, ports);
  registerOperationRoutes(app, ports);
  registerConfirmRoute(app, ports);
  registerWebOperationRoutes(app, ports);
  registerReadRoutes(app, ports);
  registerBatchCaptureRoutes(app, ports);
  registerOfflineRoutes(app, ports);
}

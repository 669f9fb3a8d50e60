// Calls the provider of any service in the catalogue with signed requests.
import {
  type CancelQrPayment,
  type CreateQrPayment,
  defined,
  providerPaths,
  type RefundQrPayment,
} from '@switchyard/contract';
import type { Catalog, CompletedProviderCall } from '../../catalog/index.ts';
import {
  type Clock,
  type Ids,
  isoTime,
  type Log,
  type Metrics,
  type OutgoingCalls,
} from '../../platform/index.ts';
import { cancelOf, createdOf, healthOf, refundOf, statusOf } from './answers.ts';
import { createSignedCalls } from './calls.ts';
import type { CircuitLimits } from './circuit.ts';
import { createCircuits } from './circuits.ts';
import { pickService } from './pick.ts';
import { type PlaceDeps, placeFrom } from './place.ts';
import type { NewProviderPayment, Place, ProviderPaymentRef, Providers } from './types.ts';

export type * from './types.ts';

export type ProvidersDeps = {
  readonly calls: Pick<OutgoingCalls, 'call'>;
  readonly catalog: Pick<Catalog, 'listActiveServices' | 'findProviderEndpoint'>;
  readonly provisioning: PlaceDeps;
  readonly clock: Clock;
  readonly dueClock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The base URL to which providers send their events. */
  readonly baseUrl: string;
  readonly circuitLimits?: CircuitLimits;
  /** Receives each finished call, so that the provider can see it. */
  readonly onCall?: (call: CompletedProviderCall) => void;
};

const healthTimeoutMs = 5_000;

/** The URL for the events of a payment. */
export const eventsUrlOf = (baseUrl: string, transactionId: string): string =>
  `${baseUrl}/qrcode-payment/v1/transactions/${transactionId}/events`;

function beginning(baseUrl: string, place: Place, payment: NewProviderPayment): CreateQrPayment {
  const { transactionId, amount, currency, scannedPaymentId, order } = payment;
  return {
    platformTransactionId: transactionId,
    clientTransactionId: payment.clientTransactionId,
    serviceId: payment.serviceId,
    paymentType: payment.paymentType,
    paymentScenario: payment.paymentScenario,
    ...defined({ scannedPaymentId }),
    amount: { amount, currency },
    ...defined({ order }),
    merchant: place,
    createdAt: isoTime(payment.createdAt.getTime()),
    expiresAt: isoTime(payment.expiresAt.getTime()),
    eventsUrl: eventsUrlOf(baseUrl, transactionId),
  };
}

const named = ({ transactionId, providerTransactionId }: ProviderPaymentRef) => ({
  platformTransactionId: transactionId,
  ...defined({ providerTransactionId }),
});

const knownOf = ({ providerTransactionId }: ProviderPaymentRef) =>
  defined({ providerTransactionId });

/** @example const providers = createProviders({ calls, catalog, provisioning, clock, dueClock, ids, log, metrics, baseUrl }); */
export function createProviders(deps: ProvidersDeps): Providers {
  const { catalog, provisioning, clock, log, metrics, baseUrl } = deps;
  const circuits = createCircuits({
    clock: deps.dueClock,
    log,
    metrics,
    look: (serviceId) => look(serviceId),
    ...defined({ limits: deps.circuitLimits }),
  });
  const send = createSignedCalls({ ...deps, find: catalog.findProviderEndpoint, circuits });
  const at = () => isoTime(clock.now());

  const health: Providers['health'] = (serviceId) =>
    send({
      name: 'health',
      serviceId,
      path: providerPaths.health,
      timeoutMs: healthTimeoutMs,
      read: healthOf,
    });

  /** If the database fails too, the server repeats the health check after another pause. */
  const look = (serviceId: string) =>
    health(serviceId).catch((error: unknown) =>
      log.warn({ err: error, serviceId }, 'the health of a provider was not asked for'),
    );

  return {
    async pick(organizationId, { deviceId, paymentType, scenario }) {
      const services = await catalog.listActiveServices(organizationId, deviceId);
      return pickService(services, paymentType, scenario);
    },

    place: (organizationId, asked) => placeFrom(provisioning, organizationId, asked),

    create(place, payment) {
      const asked = { begins: { expiresAt: payment.expiresAt } };
      return send({
        name: 'create',
        serviceId: payment.serviceId,
        path: providerPaths.payments,
        message: beginning(baseUrl, place, payment),
        read: (heard, now) => createdOf(heard, asked, now),
      });
    },

    status: (of) =>
      send({
        name: 'status',
        serviceId: of.serviceId,
        path: providerPaths.payment(of.transactionId),
        read: (heard, now) => statusOf(heard, knownOf(of), now),
      }),

    cancel: (of, reason) =>
      send({
        name: 'cancel',
        serviceId: of.serviceId,
        path: providerPaths.cancel(of.transactionId),
        message: { ...named(of), reason, requestedAt: at() } satisfies CancelQrPayment,
        read: (heard, now) => cancelOf(heard, knownOf(of), now),
      }),

    refund(of, { refundId, amount, currency, reason }) {
      const money = { amount, currency };
      const why = defined({ reason });
      return send({
        name: 'refund',
        serviceId: of.serviceId,
        path: providerPaths.refunds(of.transactionId),
        message: {
          refundId,
          ...named(of),
          amount: money,
          ...why,
          requestedAt: at(),
        } satisfies RefundQrPayment,
        read: (heard, now) => refundOf(heard, { refundId }, now),
      });
    },

    refundStatus: (of, refundId) =>
      send({
        name: 'refund_status',
        serviceId: of.serviceId,
        path: providerPaths.refund(of.transactionId, refundId),
        read: (heard, now) => refundOf(heard, { refundId }, now),
      }),

    health,
    troubled: circuits.troubled,
    stop: circuits.stop,
  };
}

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
import type { Provisioning } from '../../provisioning/index.ts';
import type { CircuitBreakerLimits } from './circuit-breaker.ts';
import { createCircuitBreakers } from './circuit-breakers.ts';
import type {
  MerchantDetails,
  NewProviderPayment,
  ProviderPaymentRef,
  Providers,
} from './provider-types.ts';
import {
  readCancelAnswer,
  readCreateAnswer,
  readHealthAnswer,
  readRefundAnswer,
  readStatusAnswer,
} from './read-answers.ts';
import { selectService } from './select-service.ts';
import { createSignedCalls } from './signed-calls.ts';

export type * from './provider-types.ts';

type ProvidersDeps = {
  readonly calls: Pick<OutgoingCalls, 'call'>;
  readonly catalog: Pick<Catalog, 'listActiveServices' | 'findProviderEndpoint'>;
  readonly provisioning: MerchantDetailsDeps;
  readonly clock: Clock;
  readonly dueClock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The base URL to which providers send their events. */
  readonly baseUrl: string;
  readonly circuitLimits?: CircuitBreakerLimits;
  /** Receives each finished call, so that the provider can see it. */
  readonly onCall?: (call: CompletedProviderCall) => void;
};

const healthTimeoutMs = 5_000;

/** The URL for the events of a payment. */
const eventsUrlOf = (baseUrl: string, transactionId: string): string =>
  `${baseUrl}/qrcode-payment/v1/transactions/${transactionId}/events`;

function createPaymentMessage(
  baseUrl: string,
  merchant: MerchantDetails,
  payment: NewProviderPayment,
): CreateQrPayment {
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
    merchant,
    createdAt: isoTime(payment.createdAt.getTime()),
    expiresAt: isoTime(payment.expiresAt.getTime()),
    eventsUrl: eventsUrlOf(baseUrl, transactionId),
  };
}

const paymentIdentifiers = ({ transactionId, providerTransactionId }: ProviderPaymentRef) => ({
  platformTransactionId: transactionId,
  ...defined({ providerTransactionId }),
});

const expectedIdentifiers = ({ providerTransactionId }: ProviderPaymentRef) =>
  defined({ providerTransactionId });

/** @example const providers = createProviders({ calls, catalog, provisioning, clock, dueClock, ids, log, metrics, baseUrl }); */
export function createProviders(deps: ProvidersDeps): Providers {
  const { catalog, provisioning, clock, log, metrics, baseUrl } = deps;
  const circuits = createCircuitBreakers({
    clock: deps.dueClock,
    log,
    metrics,
    checkHealth: (serviceId) => checkHealth(serviceId),
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
      read: readHealthAnswer,
    });

  /** If the database fails too, the server repeats the health check after another pause. */
  const checkHealth = (serviceId: string) =>
    health(serviceId).catch((error: unknown) =>
      log.warn({ err: error, serviceId }, 'the server could not check the health of a provider'),
    );

  return {
    async selectService(organizationId, { deviceId, paymentType, scenario }) {
      const services = await catalog.listActiveServices(organizationId, deviceId);
      return selectService(services, paymentType, scenario);
    },

    merchantDetails: (organizationId, terminal) =>
      readMerchantDetails(provisioning, organizationId, terminal),

    create(merchant, payment) {
      const expected = { newPayment: { expiresAt: payment.expiresAt } };
      return send({
        name: 'create',
        serviceId: payment.serviceId,
        path: providerPaths.payments,
        message: createPaymentMessage(baseUrl, merchant, payment),
        read: (response, now) => readCreateAnswer(response, expected, now),
      });
    },

    status: (payment) =>
      send({
        name: 'status',
        serviceId: payment.serviceId,
        path: providerPaths.payment(payment.transactionId),
        read: (response, now) => readStatusAnswer(response, expectedIdentifiers(payment), now),
      }),

    cancel: (payment, reason) =>
      send({
        name: 'cancel',
        serviceId: payment.serviceId,
        path: providerPaths.cancel(payment.transactionId),
        message: {
          ...paymentIdentifiers(payment),
          reason,
          requestedAt: at(),
        } satisfies CancelQrPayment,
        read: (response, now) => readCancelAnswer(response, expectedIdentifiers(payment), now),
      }),

    refund(payment, { refundId, amount, currency, reason }) {
      const refundAmount = { amount, currency };
      const reasonMember = defined({ reason });
      return send({
        name: 'refund',
        serviceId: payment.serviceId,
        path: providerPaths.refunds(payment.transactionId),
        message: {
          refundId,
          ...paymentIdentifiers(payment),
          amount: refundAmount,
          ...reasonMember,
          requestedAt: at(),
        } satisfies RefundQrPayment,
        read: (response, now) => readRefundAnswer(response, { refundId }, now),
      });
    },

    refundStatus: (payment, refundId) =>
      send({
        name: 'refund_status',
        serviceId: payment.serviceId,
        path: providerPaths.refund(payment.transactionId, refundId),
        read: (response, now) => readRefundAnswer(response, { refundId }, now),
      }),

    health,
    listFailing: circuits.listFailing,
    stop: circuits.stop,
  };
}

const nameMaxChars = 200;

type MerchantDetailsDeps = Pick<Provisioning, 'resolveWithoutAcquirer'>;

/** @example const merchant = await readMerchantDetails(provisioning, organizationId, { deviceId, currency: 'EUR' }); */
async function readMerchantDetails(
  provisioning: MerchantDetailsDeps,
  organizationId: string,
  terminal: { readonly deviceId: string; readonly currency: string; readonly merchantId?: string },
): Promise<MerchantDetails> {
  const { deviceId, currency, merchantId } = terminal;
  const scope = defined({ merchantId });
  const resolved = await provisioning.resolveWithoutAcquirer(organizationId, { deviceId }, scope);
  const { merchant, store, contracts, organizationName } = resolved;
  if (store === undefined) throw new Error('the device has no store');
  const contract = contracts.find(({ currencies }) => currencies.includes(currency));
  const city = store.address?.city;
  return {
    merchantId: merchant.merchantId,
    name: merchant.name.slice(0, nameMaxChars),
    ...defined({ externalId: merchant.externalId }),
    acquirerId: organizationId,
    acquirerName: organizationName.slice(0, nameMaxChars),
    ...defined({ acquirerMerchantId: contract?.acquirerMerchantId }),
    storeId: store.storeId,
    storeName: store.name.slice(0, nameMaxChars),
    terminalId: deviceId.toLowerCase(),
    mcc: merchant.mcc,
    country: merchant.country,
    ...defined({ city }),
    timeZone: store.timeZone,
  };
}

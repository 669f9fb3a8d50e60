// Tests that a slow provider does not delay the polls of other providers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createLog, systemClock, systemIdGenerator } from '../../platform/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import type { QrKey } from '../transaction/records.ts';
import { createPaymentPoller } from './poll-due-payments.ts';

type Due = QrKey & { serviceId: string; providerId: string };

test('a slow provider with many services does not delay the queries of other providers', async () => {
  const organizationId = systemIdGenerator.uuid();
  const slowId = systemIdGenerator.uuid();
  const services = Array.from({ length: 12 }, () => systemIdGenerator.uuid());
  const due = (serviceId: string, providerId: string): Due => ({
    organizationId,
    transactionId: systemIdGenerator.uuid(),
    serviceId,
    providerId,
  });
  let waiting = services.flatMap((serviceId) =>
    Array.from({ length: 40 }, () => due(serviceId, slowId)),
  );
  const slow = new Set(waiting.map(({ transactionId }) => transactionId));
  const others = Array.from({ length: 5 }, () =>
    due(systemIdGenerator.uuid(), systemIdGenerator.uuid()),
  );
  waiting = [...waiting, ...others];
  const released = Promise.withResolvers<undefined>();
  const queriedIds: string[] = [];
  let parallelQueries = 0;
  const store = {
    async claim(_forMs: number, limit: number, busy: readonly string[]) {
      const isFree = (each: Due) =>
        ![each.serviceId, each.providerId].some((id) => busy.includes(id));
      const claimed = waiting.filter(isFree).slice(0, limit);
      waiting = waiting.filter((each) => !claimed.includes(each));
      return claimed;
    },
    find({ transactionId }: QrKey) {
      queriedIds.push(transactionId);
      if (!slow.has(transactionId)) return Promise.resolve(undefined);
      parallelQueries += 1;
      return released.promise;
    },
  };
  const log = createLog({ logLevel: 'silent', instanceName: 'looks' });
  const poller = createPaymentPoller({ store, log, clock: systemClock } as unknown as QrDeps);
  poller.start();
  try {
    await eventually('the payments of all others are queried', () =>
      others.every(({ transactionId }) => queriedIds.includes(transactionId)),
    );
    assert.ok(parallelQueries <= 16, `${parallelQueries} parallel queries to one provider`);
  } finally {
    waiting = [];
    released.resolve(undefined);
    await poller.stop();
  }
});

test('the poller does not query a payment again while a query for it is in progress', async () => {
  const key: Due = {
    organizationId: systemIdGenerator.uuid(),
    transactionId: systemIdGenerator.uuid(),
    serviceId: systemIdGenerator.uuid(),
    providerId: systemIdGenerator.uuid(),
  };
  const released = Promise.withResolvers<undefined>();
  let claims = 0;
  let queryCount = 0;
  const store = {
    async claim() {
      claims += 1;
      return [key];
    },
    find() {
      queryCount += 1;
      return released.promise;
    },
  };
  const log = createLog({ logLevel: 'silent', instanceName: 'looks' });
  const poller = createPaymentPoller({ store, log, clock: systemClock } as unknown as QrDeps);
  poller.start();
  try {
    await eventually('it is claimed again', () => claims >= 3);
    assert.equal(queryCount, 1);
  } finally {
    released.resolve(undefined);
    await poller.stop();
  }
});

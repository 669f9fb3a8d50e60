// The tests that the drill runs on Citus.
const folder = 'packages/server/test';

const names = [
  'payments/sales/keyed-sale',
  'payments/sales/account-verification',
  'payments/sales/idempotency-keys',
  'payments/sales/receipt',
  'payments/sales/not-after',
  'payments/sales/step-up',
  'payments/sales/sale-confirmation',
  'payments/operations/captures-refunds-cancels',
  'payments/operations/capture-all',
  'payments/operations/manual-resolution',
  'payments/offline/offline-sales',
  'payments/clearing/clearing-files',
  'payments/ledger/payment-model',
  'qr/qr-payments',
  'qr/qr-cancels',
  'qr/qr-replays',
  'qr/qr-races',
  'webhooks/webhooks',
  'reporting/reporting-summary',
  'reporting/reconciliation',
  'acquiring/acquirer-link',
  'acquiring/acquirer-faults',
];

export const citusTestFiles = names.map((name) => `${folder}/${name}.test.ts`);

/** Card payments: the schemas of requests and responses, and their enumerations. */
export * from './payments/answers.ts';
export * from './payments/approval-codes.ts';
export * from './payments/clearing.ts';
export * from './payments/offline.ts';
export * from './payments/requests.ts';
export * from './payments/resolve.ts';
export * from './payments/words.ts';

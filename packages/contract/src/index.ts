/** The contract between Switchyard and its clients: codes, permissions and schemas. */
export * from './audit-chain.ts';
export * from './audit-verifier.ts';
export * from './errors.ts';
export * from './permissions.ts';
export * from './refusal.ts';
export * from './response-codes.ts';
export * from './schemas/acquirer-contracts.ts';
export * from './schemas/applications.ts';
export * from './schemas/audit.ts';
export * from './schemas/countries.ts';
export * from './schemas/device-certificates.ts';
export * from './schemas/payments.ts';
export * from './schemas/problem.ts';
export * from './schemas/provisioning.ts';
export * from './schemas/services.ts';
export * from './schemas/subscriptions.ts';
export * from './schemas/values.ts';

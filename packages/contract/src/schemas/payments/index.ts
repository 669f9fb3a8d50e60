/** Card payments: the schemas of requests and responses, and their enumerations. */
export * from './answers.ts';
export * from './clearing.ts';
export * from './enums.ts';
export * from './offline.ts';
export * from './requests.ts';
export * from './supervisor-approval-codes.ts';

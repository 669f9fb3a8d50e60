/** The catalogue of events: every published type with the schema of its data. */
export { asyncApiDocument } from './asyncapi-document.ts';
export { publicSchema } from './asyncapi-schema-and-ref.ts';
export { publishedActions } from './estate-events.ts';
export * from './event-envelope.ts';
export * from './event-types.ts';
export { transactionMeanings } from './transaction-events.ts';

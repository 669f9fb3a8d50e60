/** The catalogue of events: every published type with the schema of its data. */
export { asyncApiDocument } from './asyncapi.ts';
export * from './catalogue.ts';
export { publicSchema } from './document-parts.ts';
export * from './envelope.ts';
export { publishedActions } from './estate-events.ts';
export { transactionMeanings } from './transaction-events.ts';

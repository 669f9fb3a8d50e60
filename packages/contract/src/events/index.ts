/** The catalogue of events: every type that is published, with the schema of what it says. */
export { asyncApiDocument } from './asyncapi.ts';
export * from './catalogue.ts';
export { publicSchema } from './document-parts.ts';
export * from './envelope.ts';
export { publishedActions } from './estate-events.ts';
export { transactionMeanings } from './transaction-events.ts';

/** The catalogue of events: every type that is published, with the schema of what it says. */
export { asyncApiDocument, publicSchema } from './asyncapi.ts';
export * from './catalogue.ts';
export * from './envelope.ts';
export { publishedActions } from './estate-events.ts';
export { transactionMeanings } from './transaction-events.ts';

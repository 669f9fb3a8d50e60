// The door to clearing files; each kind of acquirer takes the reference format.
export { referenceClearing } from './reference-format.ts';
export {
  AcknowledgementFault,
  type ClearingAcknowledgement,
  type ClearingLine,
  numberTaken,
} from './types.ts';

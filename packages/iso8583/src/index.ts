// The public interface of the package.
export { annotateMessage, type MessagePart } from './annotate-message.ts';
export { fieldsOfBitmap } from './bitmap.ts';
export { compileDialect, type Dialect, type TextErrorPolicy } from './compile-dialect.ts';
export { createDeframer, type Deframer } from './deframer.ts';
export { describeMessage, maskField, maskPan } from './describe-message.ts';
export type {
  BerTlvFormat,
  BitmapFormat,
  Charset,
  Content,
  DialectTable,
  Encodings,
  FieldFormat,
  FieldSize,
  Fill,
  HexEncoding,
  LengthEncoding,
  PartFormat,
  PositionsFormat,
  SeparatedFormat,
  SubFieldFormat,
  TaggedPartFormat,
  TagsFormat,
  TokensFormat,
  ValueEncoding,
} from './dialect-table.ts';
export { iso1987Ascii, iso1987Binary, iso1987BinaryEmv } from './dialects/iso1987.ts';
export { iso1993Ascii } from './dialects/iso1993.ts';
export { Iso8583Error, type Iso8583ErrorCode, iso8583ErrorCodes } from './errors.ts';
export { encodeFrame, type Frame, type FrameFormat } from './frame.ts';
export { builtInHostNames, builtInHosts } from './hosts/built-in.ts';
export {
  type CompiledHost,
  compileHost,
  type MessageWithMac,
  type MessageWithoutMac,
} from './hosts/compile-host.ts';
export type {
  HostResponseCodes,
  HostTable,
  MacSettings,
  NetworkFunction,
} from './hosts/host-table.ts';
export { HostTableError, type TableMistake } from './hosts/host-table-error.ts';
export { findIdentifierFault, fitNumber, padIdentifier } from './hosts/identifiers.ts';
export type { RequestLookup } from './hosts/operations.ts';
export { hostTableSchema, readHostTable } from './hosts/read-host-table.ts';
export { compileReferencePattern } from './hosts/reference-numbers.ts';
export {
  createHostSamples,
  createOperationSamples,
  createPlatformSamples,
  sampleTime,
} from './hosts/sample-messages.ts';
export type {
  Fields,
  Message,
  MessageOperation,
  OriginalMessage,
  PaymentData,
  PaymentDataName,
} from './message.ts';
export { type OperationName, operationNames } from './operation-names.ts';
export { compileSubFields, type SubFields } from './sub-fields/compile-sub-fields.ts';

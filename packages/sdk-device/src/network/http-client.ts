/** The HTTP client of this package: its limits, its errors, and the certificate of the device. */
import { createHttpClient, type HttpClient } from '@switchyard/sdk-core';
import { createDeviceError } from '../support/device-error.ts';
import type { DeviceTls } from './tls-settings.ts';

const responseBytesMax = 4_194_304;
const connectionsMax = 16;

export const createDeviceHttpClient = (tls: DeviceTls = {}): HttpClient =>
  createHttpClient({ tls, connectionsMax, responseBytesMax, createError: createDeviceError });

import { expect, it } from 'vitest';
import { OperationError } from '../../../http/endpoint/request-error.ts';
import { WORKLOAD_ERRORS } from '../../workloads.ts';
import { faultSentence } from './fault-sentence.ts';

const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} failed`), { code, syscall });

it.each([
  [
    'the detail of an error of an operation',
    new OperationError('invalid_workload', 'image is wrong: correct it'),
    'image is wrong: correct it',
  ],
  [
    'the declared message of one without detail',
    new OperationError('image_unavailable'),
    WORKLOAD_ERRORS.image_unavailable.message,
  ],
  ['the message of another error', new Error('port 80 is in use: choose another'), 'port 80 is in use: choose another'],
  [
    'what to do about an error of the file system',
    systemError('ENOSPC', 'write'),
    'a file of vmcp cannot be read or written (ENOSPC): check the disk space and the permissions of the state folder, then restart the workload',
  ],
  ['the message of an error of the network', systemError('ECONNREFUSED', 'connect'), 'ECONNREFUSED: connect failed'],
])('is %s', (_what, error, expected) => {
  expect(faultSentence(error)).toBe(expected);
});

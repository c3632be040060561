import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { newServer } from './new-server.ts';

serveStdio(newServer, { legacy: 'reject' });

// Sends an action with the generated types and reads the deeds about it.

import createClient from "openapi-fetch";

import type { paths } from "./api.js";

declare const process: { argv: string[] };

const [base, key, mark] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const client = createClient<paths>({ baseUrl: base, headers });
const sent = await client.POST("/v1/actions", { body: { tool: "lab.note", args: { mark } } });
if (!sent.data) throw new Error(`${sent.error.error.code}: ${sent.error.error.message}`);
const query = { subject: sent.data.id };
const listed = await client.GET("/v1/deeds", { params: { query } });
if (!listed.data) throw new Error(`${listed.error.error.code}: ${listed.error.error.message}`);
console.log(JSON.stringify({ action: sent.data, deeds: listed.data }));
